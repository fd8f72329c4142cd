"""Fuzzing: random calls, programs, files and faults.

`tools/soak` runs all of it for as long as you like, the tests beside this file a short part with
fixed seeds. A *target* (`targets.py`) is a class whose method `case` does one thing at random and
returns what is wrong. Cases run in worker processes (`runner.py`, `worker.py`) with limits of
memory and time, so that a crash or a hang is one more finding. Case `n` of a seed is always the
same: its random numbers come from (target, seed, n) alone.
"""
