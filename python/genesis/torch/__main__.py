"""``python -m genesis.torch script.py args``: the same as ``genesis run-torch``."""

import sys

from genesis.cli import main

if __name__ == "__main__":
    sys.exit(main(["run-torch", *sys.argv[1:]]))
