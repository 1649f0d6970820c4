"""The cases of a lab's checks, each with its correct answers.

A case is a dict of arrays: the moves of a game and what our rules say about every position of it. In the instructor's tree
each case is drawn when a check asks for it. A student's kit has no rules to draw with; there the cases are read from a bank,
a file made at release time with many cases of each family.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Protocol
from zipfile import BadZipFile

import numpy as np

from grader.errors import CouldNotGrade

FROM_PLAYER_2 = 1 / 3  # the share of games that player 2 begins, in checks that depend on who began
Case = Mapping[str, np.ndarray]
Families = Mapping[str, Callable[[Random], Case]]


class Cases(Protocol):
    """A source of cases."""

    def draw(self, family: str, rng: Random) -> Case:
        """Return a case of a family; the same state of the generator gives the same case."""
        ...


class DrawnCases:
    """Cases drawn when they are needed, by the functions of a lab."""

    def __init__(self, families: Families) -> None:
        self._families = families

    def draw(self, family: str, rng: Random) -> Case:
        """See `Cases`."""
        return self._families[family](rng)


class StoredCases:
    """The cases of a bank, whose arrays are named FAMILY/NUMBER/NAME."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._families: dict[str, dict[int, dict[str, np.ndarray]]] = {}
        for key, array in arrays.items():
            family, number, name = key.split("/")
            self._families.setdefault(family, {}).setdefault(int(number), {})[name] = array

    @classmethod
    def read(cls, path: Path) -> StoredCases:
        """Read a bank; raise CouldNotGrade if it is missing or damaged."""
        try:
            with np.load(path, allow_pickle=False) as file:
                return cls(dict(file))
        except (OSError, ValueError, BadZipFile) as error:
            raise CouldNotGrade(f"{path} cannot be read ({error}); unpack the assignment again") from error

    def draw(self, family: str, rng: Random) -> Case:
        """See `Cases`."""
        cases = self._families[family]
        return cases[rng.randrange(len(cases))]


def draw_game(cases: Cases, rng: Random) -> Case:
    """Draw a case of the family `game`, or of `second`, whose games player 2 begins."""
    return cases.draw("second" if rng.random() < FROM_PLAYER_2 else "game", rng)


def bank_of(families: Families, seed: int, cases: int) -> bytes:
    """Return the content of a bank; on one machine, the same seed gives the same bytes.

    Args:
        cases: the number of cases of each family.
    """
    arrays = dict[str, np.ndarray]()
    for family, draw in families.items():
        for number in range(cases):
            case = draw(Random(f"{seed}:{family}:{number}"))
            arrays |= {f"{family}/{number}/{name}": array for name, array in case.items()}
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, **arrays)
    return file.getvalue()
