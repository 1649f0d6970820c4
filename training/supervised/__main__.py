"""Supervised training: `python -m training.supervised` (see `learning.py`)."""

import sys

from training.supervised.learning import main

if __name__ == "__main__":
    sys.exit(main())
