"""Compare every submission of this year with every other one and with those of earlier years, part by part."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

from grader.instructor.similarity.comparison import LEAST, Common, Prints, TooLong, fingerprint_handed_out
from grader.instructor.similarity.works import PARTS, LeftOut, Work, part_of, text_of
from grader.pipeline.listeners import Announce

T = TypeVar("T")


@dataclass(frozen=True)
class Pair:
    """Two submissions and what one part of them has in common.

    Attributes:
        first: the label of a submission of this year.
        second: the label of another one, of this year or an earlier one.
        earlier: whether the second one is from an earlier year.
        same: whether both are of this year and hold the same files, as those of two members of a group do.
    """

    first: str
    second: str
    part: str
    earlier: bool
    common: Common
    same: bool = False

    @property
    def share(self) -> float:
        """The larger share: added code does not hide what was copied."""
        return max(self.common.shares)


@dataclass
class Study:
    """The outcome of all comparisons.

    Attributes:
        parts: what was compared of each submission.
        pairs: every pair that was compared, the largest share first.
        same: labels of submissions of this year that hold the same files.
        prints: label -> part -> what was compared.
        left_out: what was not compared.
    """

    parts: tuple[str, ...]
    pairs: list[Pair] = field(default_factory=list)
    same: list[tuple[str, ...]] = field(default_factory=list)
    prints: dict[str, dict[str, Prints]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)

    def above(self, least: float) -> list[Pair]:
        """Return the pairs with at least this share, without those that hold the same files."""
        return [pair for pair in self.pairs if pair.share >= least and not pair.same]


def joined(files: Mapping[str, str]) -> str:
    """Return the texts of a part's files as one text, with an empty line between files."""
    return "\n".join(files.values())


def compare_all(
    works: Iterable[Work], handed_out: Mapping[str, bytes], announce: Announce, parts: tuple[str, ...] = PARTS
) -> Study:
    """Compare all submissions.

    Args:
        parts: the parts that submissions of this assignment have.
        handed_out: path -> content of the code that does not count.
    """
    study, works = Study(parts), list(works)
    given: dict[str, set[int]] = {}
    for part in parts:
        announce(f"\rreading the handed-out {part} code")
        sources = {path: text_of(content) for path, content in handed_out.items() if part_of(path) == part}
        given[part], too_long = fingerprint_handed_out(sources, part)
        study.left_out += [
            LeftOut(f"{path} is handed-out code that is too large to be left out of the comparison") for path in too_long
        ]
    for work in _with_estimate(works, "splitting into tokens", announce):
        study.prints[work.label] = dict(_prints_of(work, given, study.left_out))
    pairs = [(one, other) for one, other in combinations(works, 2) if not one.earlier]
    study.same = _same_files(work for work in works if study.prints[work.label] and not work.earlier)
    for one, other in _with_estimate(pairs, "comparing pair", announce):
        same = not other.earlier and one.sources == other.sources
        for part in parts:
            prints = study.prints[one.label].get(part), study.prints[other.label].get(part)
            if prints[0] is not None and prints[1] is not None:
                study.pairs.append(Pair(one.label, other.label, part, other.earlier, prints[0].common(prints[1]), same))
    study.pairs.sort(key=lambda pair: (-pair.share, pair.part, pair.first, pair.second))
    return study


def _same_files(works: Iterable[Work]) -> list[tuple[str, ...]]:
    """Return the labels of submissions that hold the same files."""
    labels: dict[tuple[tuple[str, bytes], ...], list[str]] = {}
    for work in works:
        labels.setdefault(tuple(work.sources.items()), []).append(work.label)
    return [tuple(several) for several in labels.values() if len(several) > 1]


def _prints_of(work: Work, given: Mapping[str, set[int]], left_out: list[LeftOut]) -> Iterator[tuple[str, Prints]]:
    """Yield part -> prints of each part that can be compared, and list the others."""
    for part in given:
        files = work.files(part)
        if not files:
            left_out.append(LeftOut(f"{work.label}, {part}: no source was found where it is collected", by_hand=False))
            continue
        try:
            prints = Prints(joined(files), part).without(given[part])
        except TooLong as error:
            left_out.append(LeftOut(f"{work.label}, {part}: {error}; compare it by hand"))
            continue
        if prints.comparable < LEAST:
            left_out.append(LeftOut(f"{work.label}, {part}: too little is left without the handed-out code", by_hand=False))
        else:
            yield part, prints


def _with_estimate(items: list[T], doing: str, announce: Announce) -> Iterator[T]:
    """Yield the items, and say how far it is and how long the rest will take at the mean speed so far."""
    started = time.monotonic()
    for done, item in enumerate(items):
        left = f", about {(time.monotonic() - started) / done * (len(items) - done):.0f} s left" if done else ""
        announce(f"\r{doing} {done + 1} of {len(items)}{left}")
        yield item
