"""Where the checks get correct answers: from the grader's own search and network, or from a bank of their results.

A check draws a case (a position, weights, a batch) with a random generator and asks an oracle for the answers to it. In the
instructor's tree, `grader.judge.trusted.answers` computes them. A student's kit has neither a correct search nor a correct
network; there the oracle is `Bank`, a file made at release time. It contains thousands of seeds and the answers to the cases
that they draw, and each run uses different ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, Protocol, TypeVar
from zipfile import BadZipFile

import numpy as np

from grader.errors import CouldNotGrade

JUDGE = Path(__file__).resolve().parents[1]
BANK, TRUSTED = JUDGE / "bank.npz", JUDGE / "trusted"
Answers = Mapping[str, np.ndarray]
"""The correct answers to one case, by name."""
Heads = tuple[np.ndarray, np.ndarray]
"""log_probs [N, W*H] and value [N, 1], as `forward` of the handout's network gives them."""
Case = TypeVar("Case")


def is_kit() -> bool:
    """Return whether this tree is a student's kit, which has a bank of answers in place of the trusted modules."""
    return not TRUSTED.is_dir()


class Oracle(Protocol):
    """A source of correct answers."""

    def ask(self, family: str, draw: Callable[[Random], Case], rng: Random) -> tuple[Case, Answers]:
        """Return a case and the correct answers to it.

        Args:
            family: the name of this kind of case; each kind is always drawn by the same function.
            draw: makes a case from a random generator; the same seed always gives the same case.
            rng: chooses the case.
        """
        ...

    def outputs(self, weights: Mapping[str, np.ndarray], states: np.ndarray, **mode: Any) -> Heads | None:
        """Return the outputs of the handout's network with any weights, or None if no network is available.

        Args:
            states: [N, 9, H, W] float32.
            mode: `width`, `height`, `train_mode`.

        Raises:
            ValueError: these are not weights of the handout's network.
        """
        ...


def case_of(draw: Callable[[Random], Case], seed: int) -> Case:
    """Return the case that a seed draws."""
    return draw(Random(seed))


class Bank:
    """The oracle of a student's kit, which reads cases and answers from a file.

    For each family and answer the file has an array `FAMILY/ANSWER`, with a row for each seed in `FAMILY/seeds`.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = dict(arrays)

    @classmethod
    def read(cls, path: Path = BANK) -> Bank:
        """Read the file; raise CouldNotGrade if it is missing or damaged."""
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(file)
        except (OSError, ValueError, BadZipFile) as error:
            raise CouldNotGrade(f"{path} cannot be read ({error}); unpack the assignment again") from error

    def ask(self, family: str, draw: Callable[[Random], Case], rng: Random) -> tuple[Case, Answers]:
        """Return one of the cases in the file; see `Oracle`."""
        seeds = self._arrays[f"{family}/seeds"]
        row = rng.randrange(len(seeds))
        return case_of(draw, int(seeds[row])), _Row(self._arrays, family, row)

    def outputs(self, weights: Mapping[str, np.ndarray], states: np.ndarray, **mode: Any) -> None:
        """Return None, since a file has no network."""
        return None


class _Row(Mapping[str, np.ndarray]):
    """The answers to one case of a bank."""

    def __init__(self, arrays: Mapping[str, np.ndarray], family: str, row: int) -> None:
        self._arrays, self._family, self._row = arrays, family, row

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[f"{self._family}/{name}"][self._row]

    def __iter__(self) -> Iterator[str]:
        start = f"{self._family}/"
        return (name.removeprefix(start) for name in self._arrays if name.startswith(start))

    def __len__(self) -> int:
        return sum(1 for _ in self)
