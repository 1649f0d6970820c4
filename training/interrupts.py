"""A Ctrl-C that lets work in progress finish, so that the files of a run stay whole."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from typing import Any


class Interrupts:
    """Lets Ctrl-C interrupt a wait at once, but lets all other work finish first."""

    def __init__(self) -> None:
        self.pressed = False
        self._waiting = False

    @contextlib.contextmanager
    def handled(self) -> Iterator[None]:
        """Handle Ctrl-C like this within the block."""
        before = signal.signal(signal.SIGINT, self._take)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    @contextlib.contextmanager
    def allowed(self) -> Iterator[None]:
        """Raise KeyboardInterrupt at once within the block, even for a Ctrl-C that was pressed before it."""
        self._waiting = True
        try:
            if self.pressed:
                raise KeyboardInterrupt
            yield
        finally:
            self._waiting = False

    def _take(self, *_: Any) -> None:
        self.pressed = True
        if self._waiting:
            raise KeyboardInterrupt
