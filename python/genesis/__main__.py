"""``python -m genesis`` is the command ``genesis``."""

from genesis.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
