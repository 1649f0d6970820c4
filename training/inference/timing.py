"""Time different ways to compute the same thing, to choose the fastest one on this machine."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import torch

TIMED_CALLS = 3
CLEARLY_SLOWER = 2.0  # a way that takes this many times as long as another one is not timed again


def computing_clock(device: torch.device) -> Callable[[], float]:
    """Return the clock, in seconds, that compares ways to compute on this device.

    Where one thread computes, it is CPU time: on a busy machine, other programs change the time that passes.
    """
    return time.process_time if device.type == "cpu" and torch.get_num_threads() == 1 else time.perf_counter


def shortest_time(call: Callable[[], object], clock: Callable[[], float], other: float = math.inf) -> float:
    """Return the shortest time of a few calls.

    Bfloat16 takes several times as long as float32 on processors without instructions for it, which many laptops have.

    Args:
        call: what to time; it is called once before, to prepare the computation.
        clock: see `computing_clock`.
        other: the shortest time of another way; if a call takes much longer, it is the last one.
    """
    call()
    times: list[float] = []
    while len(times) < TIMED_CALLS and min(times, default=0.0) < CLEARLY_SLOWER * other:
        started = clock()
        call()
        times.append(clock() - started)
    return min(times)
