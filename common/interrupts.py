"""A Ctrl-C that lets work in progress finish, so that files stay whole and threads do not wait for each other for ever.

A KeyboardInterrupt in the middle of `threading` or `concurrent.futures` can leave a lock held that another thread waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from queue import SimpleQueue
from signal import SIGINT, default_int_handler, getsignal, signal
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Interrupts:
    """Lets Ctrl-C interrupt a wait at once, but lets all other work finish first."""

    def __init__(self) -> None:
        self.pressed = False
        self._waiting = False

    @contextmanager
    def handled(self) -> Iterator[None]:
        """Handle Ctrl-C like this within the block."""
        before = signal(SIGINT, self._take)
        try:
            yield
        finally:
            signal(SIGINT, before)

    @contextmanager
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


def each_in_threads(
    work: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int,
    stop: Callable[[], None],
    initializer: Callable[[], None] | None = None,
) -> Generator[Future[Result], None, None]:
    """Call `work` on each item in threads, and yield the calls in the order in which they end.

    When the generator is closed, or Ctrl-C is pressed, no other call begins, and those in progress are waited for.

    Args:
        workers: calls at once.
        stop: asks the calls in progress to end soon; called also after the last has ended.
        initializer: called once in each thread.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed, and the calls in progress have ended.
    """
    interrupts, ended = Interrupts(), SimpleQueue[Future[Result]]()
    with ExitStack() as stack:
        # Only the main thread is ever interrupted, and a handler of the caller's own stays in place.
        if threading.current_thread() is threading.main_thread() and getsignal(SIGINT) is default_int_handler:
            stack.enter_context(interrupts.handled())
        pool = stack.enter_context(ThreadPoolExecutor(workers, initializer=initializer))
        try:
            calls = [pool.submit(work, item) for item in items]
            for call in calls:
                call.add_done_callback(ended.put)
            for _ in calls:
                with interrupts.allowed():
                    call = ended.get()
                yield call
        finally:
            stop()
            pool.shutdown(cancel_futures=True)
            if interrupts.pressed:
                raise KeyboardInterrupt
