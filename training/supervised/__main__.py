"""Supervised training: `python -m training.supervised` (see `learning.py`)."""

import sys

from common.program_ends import run_program
from training.supervised.learning import main

if __name__ == "__main__":
    sys.exit(run_program("training.supervised", main))
