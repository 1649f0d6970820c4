"""Which file the best network of a run is written to, so that no run overwrites a better network of another one.

Beside each network is a small text file that says how good it is and which run it belongs to: best_policy.toml for
best_policy.model. A network of which nothing is known counts as better than any other.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from itertools import count
from pathlib import Path
from typing import Any

from common.files import write_whole


@dataclass(frozen=True, kw_only=True)
class Strength:
    """How good a network is.

    Attributes:
        board: width, height, n_in_row.
        games: the number of games after which it was measured.
        passed: the number of counts of all lines of replies without a losing one.
        losing_lines: the losing lines in the last count, or -1 if the lines were not played.
        verified: whether it lost no line in any count.
        win_ratio, opponent_playouts: its result against pure MCTS with this many playouts.
    """

    board: tuple[int, int, int]
    games: int
    passed: int
    losing_lines: int
    verified: bool
    win_ratio: float
    opponent_playouts: int

    def is_better_than(self, other: Strength) -> bool:
        """Whether this network takes the place of the other one, which must be one of the same board."""
        return self._rank > other._rank

    @property
    def _rank(self) -> tuple[float, ...]:
        lines = float("-inf") if self.losing_lines < 0 else -self.losing_lines
        return self.verified, self.passed, lines, self.opponent_playouts, self.win_ratio


@dataclass(frozen=True)
class Known:
    """What the text beside a network says.

    Attributes:
        run: the run that wrote it.
        strength: how good it is; None if no text belongs to this network, or if its run ended while it saved it.
    """

    run: str
    strength: Strength | None


class BestNetwork:
    """The file of the best network of a run, and those of earlier runs.

    Args:
        path: the file in which people look for the best network.
        run: a name that no other run has.

    Attributes:
        path, run: as given.
        force: whether this run's network takes the place of any other.
        saved_in: where this run's best network is, once it was saved.
    """

    def __init__(self, path: str, run: str) -> None:
        self.run = run
        self.force = False
        self.saved_in = ""
        self.path = Path(path)

    def continue_run(self, run: str, saved_in: str) -> None:
        """Go on for a run that was interrupted, whose networks are its own."""
        self.run, self.saved_in = run, saved_in

    def save(self, save_model: Callable[[str], None], strength: Strength) -> None:
        """Write a network that is the best of this run so far.

        Args:
            save_model: the method of the network that writes its weights.
        """
        target = self.path
        if not (self._is_ours(target) or self.force):
            if self.reason_to_stay(strength.board, strength):
                target = self.aside()
            else:
                keep(self.path, next(path for path in _numbered(self.path) if not path.exists()))
        self._describe(target, {"saving": True})  # a kill before all is written leaves the file to this run
        save_model(str(target))
        self._describe(target, {"sha256": _digest(target)} | _values(strength))
        if self.saved_in and Path(self.saved_in) != target and self._is_ours(Path(self.saved_in)):
            forget(Path(self.saved_in))
        self.saved_in = str(target)

    def _describe(self, target: Path, values: dict[str, Any]) -> None:
        text = _as_toml({"run": self.run} | values)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(_text_beside(target), "# How good the network beside this file is. Written by train.py.\n" + text)

    def reason_to_stay(self, board: tuple[int, int, int], strength: Strength | None = None) -> str:
        """Return why the network of an earlier run keeps its place, such as `is a verified network`, or an empty string.

        Args:
            board: width, height, n_in_row of this run.
            strength: of the network that would take its place; None before there is one.
        """
        if not self.path.exists() or self._is_ours(self.path) or self.force:
            return ""
        other = known(self.path).strength
        if other is None:
            return "is a network of unknown strength"
        if other.board != board:
            return f"is a network for {other.board[0]}x{other.board[1]}, {other.board[2]} in a row"
        if other.verified:
            return "is a verified network"
        if strength is not None and not strength.is_better_than(other):
            return "is at least as good"
        return ""

    def _is_ours(self, path: Path) -> bool:
        return not path.exists() or known(path).run == self.run

    def aside(self) -> Path:
        """Return where this run's network goes if that of an earlier run stays: the first number that is ours or free."""
        return next(path for path in _numbered(self.path) if self._is_ours(path))


def known(path: Path) -> Known:
    """Return what is known about a network; nothing if the text beside it is missing, damaged or about other weights."""
    try:
        values: dict[str, Any] = tomllib.loads(_text_beside(path).read_text(encoding="utf-8"))
        run = str(values.pop("run"))
        if values.pop("saving", False):
            return Known(run, None)
        if values.pop("sha256") != _digest(path):
            return Known("", None)
        return Known(run, Strength(**values | {"board": tuple(values["board"])}))
    except (OSError, ValueError, KeyError, TypeError):
        return Known("", None)


def keep(path: Path, place: Path) -> None:
    """Rename a network and the text beside it; at any moment, a text is beside the network."""
    text = _text_beside(path)
    if text.exists():
        write_whole(_text_beside(place), text.read_text(encoding="utf-8"))
    os.replace(path, place)
    text.unlink(missing_ok=True)


def forget(path: Path) -> None:
    """Remove a network and the text beside it."""
    path.unlink(missing_ok=True)
    _text_beside(path).unlink(missing_ok=True)


def _numbered(path: Path) -> Iterator[Path]:
    return (path.with_name(f"{path.stem}.{number}{path.suffix}") for number in count(1))


def _text_beside(path: Path) -> Path:
    return path.with_suffix(".toml")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _values(strength: Strength) -> dict[str, Any]:
    return {field.name: getattr(strength, field.name) for field in fields(strength)}


def _as_toml(values: dict[str, Any]) -> str:
    lines = []
    for name, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else repr(list(value) if isinstance(value, tuple) else value)
        lines.append(f"{name} = {text}")
    return "\n".join(lines) + "\n"
