"""Long self-play runs: `python -m training.selfplay` (see `long_run.py`)."""

import sys

from common.program_ends import run_program
from training.selfplay.long_run import main

if __name__ == "__main__":
    sys.exit(run_program("training.selfplay", main))
