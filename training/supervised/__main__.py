"""Supervised training: `python -m training.supervised` (see `learning.py`)."""

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")  # torch takes seconds to import, and there is nothing to save

import sys

from common.program_ends import run_program
from training.supervised.learning import main

if __name__ == "__main__":
    sys.exit(run_program("training.supervised", main))
