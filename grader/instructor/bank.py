"""The bank of a student's kit: cases that the checks may draw, with the results of the grader's search and network.

`grader.judge.support.oracle.Bank` reads it. It holds seeds and results, but no code that computes a result. For some families
it also holds the results of searches with a typical slip, so that a check can name the slip. On large boards, where such
searches would be expensive, it can name only the one for which these boards are there: a c_puct that is not the player's.
"""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from random import Random
from typing import Any

import numpy as np
from tqdm import tqdm

from grader.judge.support.agreement import DEFAULT_C_PUCT, RIGHT, slip_name
from grader.judge.support.network_cases import OUTPUTS, Batch, LayersCase, SymmetryCase
from grader.judge.support.oracle import case_of
from grader.judge.support.searches import SEARCHES
from grader.judge.trusted.answers import answers_of

CASES = 96
"""The default number of cases in each family."""
LOG_INTERVAL_S = 60
FAMILIES: dict[str, Callable[[Random], Any]] = {
    **SEARCHES,
    **OUTPUTS,
    "layers": LayersCase,
    "symmetries": SymmetryCase,
    "batch": Batch,
}
EXPLAINED = ("certain", "search 0", "search 1", "search 2")
"""Beginnings of the families whose answers include those of searches with any slip."""
BankRow = tuple[int, dict[str, np.ndarray]]


def make_bank(seed: int, cases: int = CASES, jobs: int = 1) -> bytes:
    """Return the content of the bank's file; on one machine, the same seed gives the same bytes.

    Args:
        cases: number of cases in each family.
        jobs: number of processes.
    """
    arrays: dict[str, np.ndarray] = {}
    for family, rows in zip(FAMILIES, _all_rows(seed, cases, jobs), strict=True):
        arrays[f"{family}/seeds"] = np.array([case_seed for case_seed, _ in rows], dtype=np.uint32)
        for name in rows[0][1]:
            arrays[f"{family}/{name}"] = _stacked([answers[name] for _, answers in rows])
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _all_rows(seed: int, cases: int, jobs: int) -> list[list[BankRow]]:
    """Return the rows of each family, in the order of FAMILIES; a bar shows how far the work is, in a log once a minute."""
    work = partial(_family, seed=seed, cases=cases)
    seldom = {} if sys.stderr.isatty() else {"mininterval": LOG_INTERVAL_S, "miniters": 1}
    with tqdm(total=len(FAMILIES), unit="family", **seldom) as bar, ExitStack() as opened:
        if jobs == 1:
            ended: Iterable[tuple[str, list[BankRow]]] = map(work, FAMILIES)
        else:
            # A forked process would inherit torch's locks in whatever state they are in. Pool ends its processes when left.
            pool = opened.enter_context(get_context("spawn").Pool(jobs, initializer=_ignore_interrupts))
            ended = pool.imap_unordered(work, FAMILIES)
        rows = {}
        for family, rows_of_family in ended:
            rows[family] = rows_of_family
            bar.update()
    return [rows[family] for family in FAMILIES]


def _ignore_interrupts() -> None:
    """Leave Ctrl-C to the process that started this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _family(family: str, seed: int, cases: int) -> tuple[str, list[BankRow]]:
    rows = _rows(family, Random(f"{seed}:{family}"))
    return family, [next(rows) for _ in range(cases)]


def _rows(family: str, rng: Random) -> Iterator[BankRow]:
    while True:
        case_seed = rng.randrange(2**31)
        answers = answers_of(case_of(FAMILIES[family], case_seed))
        if answers is not None:
            yield case_seed, {name: answers[name] for name in answers if _is_kept(family, name)}


def _is_kept(family: str, name: str) -> bool:
    """Return whether the bank holds the answers with this name to the cases of a family."""
    if family not in SEARCHES or family.startswith(EXPLAINED):
        return True
    return name == RIGHT or (family.startswith("wide") and name == slip_name(DEFAULT_C_PUCT))


def _stacked(arrays: list[np.ndarray]) -> np.ndarray:
    """Stack the arrays to [cases, ...]; pad the visits of boards smaller than the largest of the family with zeros."""
    widest = max(array.shape[-1] for array in arrays)
    return np.stack([np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, widest - array.shape[-1])]) for array in arrays])
