"""``python -m genesis.run -n 4 script.py`` is ``genesis run -n 4 script.py``."""

from __future__ import annotations

import sys

from genesis.cli import main

if __name__ == "__main__":
    raise SystemExit(main(["run", *sys.argv[1:]]))
