"""Compare the sources of two submissions with copydetect.

copydetect splits a source into tokens with Pygments, replaces names by one letter, leaves out comments and layout, and hashes
every run of GRAM characters of what remains (winnowing with a window of 1, Schleimer, Wilkerson, Aiken 2003). Two of its
features are not used:

- Its removal of handed-out code also removes runs that a source merely repeats (`numpy.intersect1d` with `assume_unique` on
  values that are not unique), so `Prints.without` does that here.
- A window above 1 chooses among hashes that differ from one process to the next, so the same class would get other shares.

Pygments' patterns take very long on some texts. The sources are untrusted, so their size is limited, and a process of its own
splits them, which the kernel ends when its CPU time is over.
"""

from __future__ import annotations

import io
import math
import multiprocessing
import resource
import signal
import time
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from common.errors import UsageError
from grader.instructor.similarity.works import ENGINE, PYTHON

GRAM = 25  # characters, after names were replaced: about ten tokens
LEAST = 300  # characters that can be compared; a shorter part proves nothing
MAX_CHARACTERS = 1 << 18
LIMIT_S = 20  # CPU seconds for one source
REPEATS = 8  # places of a run that are tried; a text of one repeated character has many
LEXERS = {ENGINE: "cpp", PYTHON: "python"}


class TooLong(Exception):
    """A source is too large, or takes too long to split into tokens."""


@dataclass(frozen=True)
class Passage:
    """Lines of one side that also occur on the other side.

    Attributes:
        first, last: numbers of the lines in the text, from 0.
        group: passages with the same group, on either side, have runs in common; numbered from 0 by the left side.
    """

    first: int
    last: int
    group: int


@dataclass(frozen=True)
class Common:
    """What two texts have in common.

    Attributes:
        shares: for each of the two, the share in [0, 1] of its comparable characters.
        characters: number of common characters in the first text, after names were replaced.
    """

    shares: tuple[float, float]
    characters: int


class Prints:
    """The hashed runs of a text; `comparable` is the number of characters that they cover."""

    def __init__(self, text: str, part: str) -> None:
        """Split a text into tokens.

        Raises:
            TooLong: the text is too large or takes too long.
        """
        if len(text) > MAX_CHARACTERS:
            raise TooLong(f"its sources are larger than {MAX_CHARACTERS >> 10} KiB")
        library()  # a missing one is named here
        source = text.lstrip("\n")  # copydetect loses count of the characters if the first lines are empty
        self._left_out = len(text) - len(source)
        try:
            self._prints = _splitter().submit(_fingerprint, source, part, LIMIT_S).result()
        except BrokenProcessPool as error:
            _splitter.cache_clear()
            raise TooLong(f"it took more than {LIMIT_S} s of CPU time to split its sources into tokens") from error
        self.text = text

    @property
    def hashes(self) -> set[int]:
        return self._prints.hashes

    @property
    def comparable(self) -> int:
        return int(self._prints.token_coverage)

    def without(self, given: set[int]) -> Prints:
        """Leave out the runs of handed-out code, and return self."""
        prints = self._prints
        prints.hashes = prints.hashes - given
        prints.hash_idx = {run: places for run, places in prints.hash_idx.items() if run in prints.hashes}
        covered = np.zeros(len(prints.filtered_code), dtype=bool)
        for places in prints.hash_idx.values():
            for place in places:
                covered[place : place + GRAM] = True
        prints.token_coverage = int(covered.sum())
        return self

    def common(self, other: Prints) -> Common:
        """Return what this text and another have in common."""
        if self.hashes.isdisjoint(other.hashes):
            return Common((0.0, 0.0), 0)
        if self.text == other.text:
            return Common((1.0, 1.0), self.comparable)
        characters, shares, _ = library().compare_files(self._prints, other._prints)
        return Common((float(shares[0]), float(shares[1])), int(characters))

    def stretches(self, other: Prints) -> list[Stretch]:
        """Return the stretches of the filtered text that also occur as a whole in the other text, in order."""
        mine, theirs = self._prints.hash_idx, other._prints.hash_idx
        places = sorted((int(place), run) for run in self.hashes & other.hashes for place in mine[run])
        found: list[Stretch] = []
        last, before = 0, None
        for place, run in places:
            step = place - last
            if before is None or step > GRAM or not _follows(theirs[before], theirs[run], step):
                found.append(Stretch(place, place, set()))
            found[-1].end = place + GRAM
            found[-1].runs.add(run)
            last, before = place, run
        return found

    def lines(self, places: Sequence[int]) -> list[int]:
        """Return the numbers of the lines, from 0, in which characters of the filtered text stand."""
        if not places:
            return []
        positions, removed = self._prints.offsets.T
        # In the entry of a class's name copydetect writes the name's length where the sum so far belongs.
        removed = np.maximum.accumulate(removed)
        entries = np.minimum(np.searchsorted(positions, places), len(removed) - 1)
        ends = np.flatnonzero(np.frombuffer(self.text.encode("utf-32-le"), np.uint32) == ord("\n"))
        return [int(line) for line in np.searchsorted(ends, np.asarray(places) + removed[entries] + self._left_out)]


def _follows(places: Sequence[int], others: Sequence[int], step: int) -> bool:
    """Return whether one of `others` lies `step` behind one of the first REPEATS places; both are sorted."""
    for place in places[:REPEATS]:
        at = bisect_left(others, place + step)
        if at < len(others) and others[at] == place + step:
            return True
    return False


@dataclass
class Stretch:
    """Characters of a filtered text, from `begin` to before `end`, and the runs that cover them."""

    begin: int
    end: int
    runs: set[int]


def passages(first: Prints, second: Prints) -> tuple[list[Passage], list[Passage]]:
    """Return the passages of two texts that occur in the other one, in order.

    Stretches with a run in common get the same group, and so do those that are connected through others.
    """
    sides = first.stretches(second), second.stretches(first)
    leader: dict[int, int] = {}  # run -> another run of its group, or itself

    def lead(run: int) -> int:
        while leader[run] != run:
            leader[run] = run = leader[leader[run]]
        return run

    for stretch in (*sides[0], *sides[1]):
        one = next(iter(stretch.runs))
        for run in stretch.runs:
            leader.setdefault(run, run)
            leader[lead(run)] = lead(one)
    groups: dict[int, int] = {}
    found: tuple[list[Passage], list[Passage]] = ([], [])
    for prints, stretches, side in zip((first, second), sides, found, strict=True):
        begins = prints.lines([stretch.begin for stretch in stretches])
        ends = prints.lines([stretch.end - 1 for stretch in stretches])
        for stretch, begin, end in zip(stretches, begins, ends, strict=True):
            group = groups.setdefault(lead(next(iter(stretch.runs))), len(groups))
            side.append(Passage(begin, end, group))
    return found


def fingerprint_handed_out(sources: Mapping[str, str], part: str) -> tuple[set[int], list[str]]:
    """Return the runs of all handed-out sources of a part, and the paths of those that cannot be taken off.

    Args:
        sources: path -> text.
    """
    found: set[int] = set()
    too_long = []
    for path, text in sources.items():
        try:
            found |= Prints(text, part).hashes
        except TooLong:
            too_long.append(path)
    return found, too_long


def library() -> Any:
    """Import and return copydetect.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import copydetect
    except ImportError as error:
        raise UsageError(
            "expected the library copydetect, which compares sources; it is not installed: run "
            "`python -m pip install -r requirements-instructor.txt`"
        ) from error
    return copydetect


@cache
def _splitter() -> ProcessPoolExecutor:
    """Return the process that splits sources. A fork server starts it, so that its successors hash the same way."""
    method = multiprocessing.get_context("forkserver")
    method.set_forkserver_preload(["copydetect"])
    return ProcessPoolExecutor(1, method, signal.signal, (signal.SIGINT, signal.SIG_IGN))  # Ctrl-C is for the program


def _fingerprint(text: str, part: str, limit_s: int) -> Any:
    """Return copydetect's fingerprint of a source; the kernel ends this process after so much more CPU time."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(
        resource.RLIMIT_CPU, (math.ceil(time.process_time()) + limit_s, resource.getrlimit(resource.RLIMIT_CPU)[1])
    )
    return library().CodeFingerprint(part, GRAM, 1, fp=io.StringIO(text), language=LEXERS[part])
