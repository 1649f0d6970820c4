"""GNU Go, an opponent and an oracle in Go, where it is installed."""

import os
import shutil

import pytest

# Debian installs it in a folder that is not on everyone's PATH.
GNUGO = shutil.which("gnugo", path=f"{os.environ.get('PATH', os.defpath)}:/usr/games")
needs_gnugo = pytest.mark.skipif(GNUGO is None, reason="GNU Go is not installed")
