"""The games of a run on disk: the moves of every game, and the latest positions to learn from, in a memory-mapped ring.

    games.jsonl     one line per game, in order; an incomplete last line does not count
    positions.bin   records (packed state, policy float16, result int8); position n of the run has index n modulo the ring size
    values.bin      float16, the value that the search gave each of these positions; NaN for those of an earlier version

The positions of a game are written before its line, and the ring has room for one more game than the learner uses. So whenever
the process is killed, every game that has a line also has its positions, and a game without a line has overwritten none of
those to learn from.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UsageError
from common.files import has_no_room
from games.protocol import NOBODY, GameRules
from training.samples import FinishedGame, packed_size, unpack_states


@dataclass(frozen=True)
class Origin:
    """Where a game comes from; no two games of a run have the same origin.

    Attributes:
        start: how many earlier starts of the run had finished a game.
        worker: the number of the worker.
        number: the number of games that the worker had finished before this one, since the run was last started.
        steps: the number of training steps behind the worker's network at the end of the game.
        cpu_s: the CPU time that the worker has played since the game before this one; 0 for one that ended at the same time.
    """

    start: int
    worker: int
    number: int
    steps: int
    cpu_s: float


class ReplayBuffer:
    """The games of a new run, or of a run that is continued.

    Args:
        folder: the run's folder; files that are already there are continued.
        rules: the game.
        capacity: the largest number of positions to learn from.
        bound_from: the number of the first game that was played with the present bound of resignation.

    Raises:
        UsageError: the files there belong to another game or capacity, or are damaged.
        OSError: the disk has no room for the positions.

    Attributes:
        games, positions: the numbers of games and positions in the run so far.
        cpu_s: the CPU time of all games; those of earlier versions did not note theirs.
        starts: how many earlier starts of the run finished a game; this is the number of the present start.
        would_resign: the games from `bound_from` on that were played on although a side would have resigned: how often that
            side won, drew and lost.
    """

    def __init__(self, folder: Path, rules: GameRules, capacity: int, bound_from: int = 0) -> None:
        self.games = self.positions = self.starts = 0
        self.cpu_s = 0.0
        self.would_resign = [0, 0, 0]
        self._rules, self._capacity, self._bound_from = rules, capacity, bound_from
        self._symmetries = rules.symmetries
        record = np.dtype([("state", "u1", packed_size(rules)), ("policy", "<f2", rules.actions), ("result", "i1")])
        self._ring_size = capacity + rules.longest_game
        self._lines = folder / "games.jsonl"
        if self._lines.exists():
            self._read_games()
        path = folder / "positions.bin"
        if self.positions and (not path.exists() or path.stat().st_size != self._ring_size * record.itemsize):
            raise UsageError(
                f"expected {self._ring_size} positions of {rules.name} on {rules.width}x{rules.height} in {path}; "
                "the file has a different size"
            )
        if not self.positions:
            _reserve(path, self._ring_size * record.itemsize)
        self._ring = np.memmap(path, record, "r+", shape=self._ring_size)
        self._values = self._opened_values(folder / "values.bin")
        self._file = open(self._lines, "a", encoding="utf-8")  # noqa: SIM115 - it stays open during the run

    def _opened_values(self, path: Path) -> np.memmap[Any, np.dtype[np.float16]]:
        is_there = self.positions and path.exists() and path.stat().st_size == 2 * self._ring_size
        if not is_there:
            _reserve(path, 2 * self._ring_size)
        values = np.memmap(path, np.float16, "r+", shape=self._ring_size)
        if not is_there:
            values[:] = np.nan
        return values

    def _read_games(self) -> None:
        """Count the games, and remove an incomplete last line, since the next game would be appended to it."""
        content = self._lines.read_bytes()
        whole = content.rfind(b"\n") + 1
        for line in content[:whole].splitlines():
            try:
                game = json.loads(line)
                number, start = int(game["game"]), int(game["start"])
                learnt = int(game.get("positions", len(game["moves"])))  # earlier versions learnt from all
                self.cpu_s += game.get("cpu_s", 0.0)
                if number >= self._bound_from:
                    self._count_resignation(int(game.get("would_resign", NOBODY)), game.get("winner"))
            except (ValueError, KeyError, TypeError):
                raise UsageError(f"expected one game per line in {self._lines}; got the line {line[:60]!r}") from None
            if number != self.games:
                raise UsageError(f"expected game {self.games} next in {self._lines}; got game {number}")
            self.games += 1
            self.positions += learnt
            self.starts = max(self.starts, start + 1)
        os.truncate(self._lines, whole)

    def _count_resignation(self, player: int, winner: int | None) -> None:
        if player != NOBODY:
            self.would_resign[0 if winner == player else 1 if winner == NOBODY else 2] += 1

    def append(self, game: FinishedGame, origin: Origin) -> None:
        """Add a game; its number is `games`."""
        at = (self.positions + np.arange(len(game.plies))) % self._ring_size
        self._ring["state"][at] = game.states
        self._ring["policy"][at] = game.policies
        self._ring["result"][at] = game.results
        self._values[at] = game.values
        line = {
            "game": self.games,
            **vars(origin),
            "winner": game.winner,
            "resigned": game.resigned,
            "would_resign": game.would_resign,
            "opening": game.opening,
            "positions": len(game.plies),
            "moves": game.moves.tolist(),
        }
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()
        self.games += 1
        self.positions += len(game.plies)
        self.cpu_s += origin.cpu_s
        self._count_resignation(game.would_resign, game.winner)

    def __len__(self) -> int:
        """Return the number of positions to learn from."""
        return min(self.positions, self._capacity)

    def sample(
        self, count: int, rng: np.random.Generator, window: int, root_value_weight: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draw random positions, each under a random symmetry.

        Args:
            count: the number of positions.
            rng: draws them.
            window: how many of the latest positions to draw from, as far as there are so many.
            root_value_weight: w; the target of the value is (1 - w) z + w q, with the result z and the value q that the search
                gave the position. It is z where no value was kept.

        Returns:
            states [count, P, H, W], policies [count, A] and targets [count], all float32, for the side to move.
        """
        at = (self.positions - 1 - rng.integers(min(window, len(self)), size=count)) % self._ring_size
        chosen, values = self._ring[at], self._values[at].astype(np.float32)
        results = chosen["result"].astype(np.float32)
        mixed = (1 - root_value_weight) * results + root_value_weight * values
        which = rng.integers(self._symmetries.count, size=count)
        states = self._symmetries.turn_states(unpack_states(chosen["state"], self._rules), which)
        policies = self._symmetries.turn_policies(chosen["policy"].astype(np.float32), which)
        return states, policies, np.where(np.isnan(values), results, mixed)

    def flush(self) -> None:
        """Force everything onto the disk, so that it survives a crash of the machine."""
        self._ring.flush()
        self._values.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file of games."""
        self._file.close()


def _reserve(path: Path, size: int) -> None:
    """Make a file of zeros whose blocks are allocated: on a full disk, writing to a mapped hole would kill the process.

    Raises:
        OSError: there is no room; then the file is removed.
    """
    with open(path, "wb") as file:
        file.truncate(size)
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if has_no_room(error):  # otherwise the file system cannot allocate blocks before they are written
                path.unlink()
                raise OSError(error.errno, error.strerror, str(path)) from None
