"""The implementation of genesis.compile: guards, captures, replays, and printing of plans."""
