"""What stands beside models: data, and the states of training runs."""
