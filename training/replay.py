"""The games of a run on the disk: every game's moves, and the latest positions to learn from, as a memory-mapped ring.

    games.jsonl     a line for each game, in order; what is not a whole line has not happened
    positions.bin   records (packed state, policy float16, result int8), position number n of the run at n modulo the ring

A game's positions are written before its line, and the ring has room for one game more than is learnt from. So whenever the
process is killed, all games that have a line have their positions, and none of them is damaged by a game that has no line.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from common.errors import UsageError
from training.boards import PLANES
from training.samples import FinishedGame, unpack_states
from training.symmetries import Symmetries


@dataclass(frozen=True)
class Origin:
    """Where a game comes from; no two games of a run have the same.

    Attributes:
        start: how often the run had been started or resumed before.
        worker: number of the worker.
        number: games that the worker had finished before, since that start.
        steps: training steps of the network that the worker had when the game ended.
    """

    start: int
    worker: int
    number: int
    steps: int


class Replay:
    """The games of a run, begun anew or gone on with.

    Args:
        folder: of the run; files of an earlier run are gone on with.
        width, height: of the board.
        capacity: positions to learn from, at most.

    Raises:
        UsageError: the files there are of another board or capacity, or are damaged.

    Attributes:
        games, positions: of the run so far.
        starts: how often the run has been started, as far as its games tell.
    """

    def __init__(self, folder: Path, width: int, height: int, capacity: int) -> None:
        self.games = self.positions = self.starts = 0
        self._width, self._height, self._capacity = width, height, capacity
        self._symmetries = Symmetries(width, height)
        points = width * height
        record = np.dtype([("state", "u1", -(-PLANES * points // 8)), ("policy", "<f2", points), ("result", "i1")])
        self._ring_size = capacity + points
        self._lines = folder / "games.jsonl"
        if self._lines.exists():
            self._read_games()
        path = folder / "positions.bin"
        if self.positions and (not path.exists() or path.stat().st_size != self._ring_size * record.itemsize):
            raise UsageError(f"expected {self._ring_size} positions of {width}x{height} in {path}; it has another size")
        self._ring = np.memmap(path, record, "r+" if self.positions else "w+", shape=self._ring_size)
        self._file = open(self._lines, "a", encoding="utf-8")  # noqa: SIM115 - open as long as the run

    def _read_games(self) -> None:
        """Count what is there, and cut off half a line at the end, or the next game would be glued to it."""
        content = self._lines.read_bytes()
        whole = content.rfind(b"\n") + 1
        for line in content[:whole].splitlines():
            try:
                game = json.loads(line)
                number, start, length = int(game["game"]), int(game["start"]), len(game["moves"])
            except (ValueError, KeyError, TypeError):
                raise UsageError(f"expected one game a line in {self._lines}; a line is none: {line[:60]!r}") from None
            if number != self.games:
                raise UsageError(f"expected game {self.games} next in {self._lines}; got game {number}")
            self.games += 1
            self.positions += length
            self.starts = max(self.starts, start + 1)
        os.truncate(self._lines, whole)

    def append(self, game: FinishedGame, origin: Origin) -> None:
        """Take a game; it is number `games`."""
        at = (self.positions + np.arange(len(game.moves))) % self._ring_size
        self._ring["state"][at] = game.states
        self._ring["policy"][at] = game.policies
        self._ring["result"][at] = game.results
        line = {
            "game": self.games,
            **vars(origin),
            "winner": game.winner,
            "resigned": game.resigned,
            "moves": game.moves.tolist(),
        }
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self._file.flush()
        self.games += 1
        self.positions += len(game.moves)

    def __len__(self) -> int:
        """Positions to learn from."""
        return min(self.positions, self._capacity)

    def sample(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Random positions, each through a random symmetry.

        Returns:
            states [count, 9, H, W], policies [count, A], results [count], all float32, for the side to move.
        """
        chosen = self._ring[(self.positions - 1 - rng.integers(len(self), size=count)) % self._ring_size]
        which = rng.integers(self._symmetries.count, size=count)
        states = self._symmetries.turn_states(unpack_states(chosen["state"], self._width, self._height), which)
        policies = self._symmetries.turn_policies(chosen["policy"].astype(np.float32), which)
        return states, policies, chosen["result"].astype(np.float32)

    def flush(self) -> None:
        """Bring everything to the disk, so that it outlives the machine as well."""
        self._ring.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Nothing is taken any more."""
        self._file.close()
