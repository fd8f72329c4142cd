"""What genesis.compile is made of: guards, captures, replays, and how plans are shown."""
