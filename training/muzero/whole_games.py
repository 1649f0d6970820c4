"""Whole games: played by the model against itself, kept in one file, and held in memory for learning.

MuZero learns from sequences, so a game stays together. The file games.jsonl has one line for each game, in order:

    {"game": 0, "winner": 1, "random_moves": 2, "moves": [4, 0, ...], "policies": "..."}

`policies` are the search's policies, [T, A] float16, in base64; `random_moves` is missing in files of earlier versions. An
incomplete last line, left by a kill, does not count.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from common.errors import UsageError
from common.files import write_whole
from games.protocol import GameRules, PositionBatch
from training.samples import pack_states, packed_size
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.search.steps import StepsMaker
from training.selfplay.game_stream import make_search


@dataclass(frozen=True)
class WholeGame:
    """A game from its first move to its end.

    Attributes:
        moves: [T] int64.
        policies: [T, A] float32, the search's policy before each move; each row sums to 1.
        winner: 1 for the player who moved first, 2 for the other one, -1 for a draw.
        states: [T, ceil(P * H * W / 8)] uint8, the packed feature planes before each move (`training/samples.py`).
        random_moves: the number of first moves that were drawn from all legal moves alike.
    """

    moves: np.ndarray
    policies: np.ndarray
    winner: int
    states: np.ndarray
    random_moves: int = 0


def play_whole_games(
    rules: GameRules,
    model: StepsMaker,
    settings: PuctSettings | GumbelSettings,
    count: int,
    rng: np.random.Generator,
    random_moves: int = 0,
) -> list[WholeGame]:
    """Play games of a model against itself, side by side and all to the end.

    Args:
        random_moves: the most moves at the start of a game that are drawn from all legal moves alike; the policies are those of
            the search there, too.
    """
    at_random = rng.integers(random_moves + 1, size=count) if random_moves else np.zeros(count, dtype=np.int64)
    boards, longest = rules.batch(count), rules.longest_game
    moves = np.zeros((count, longest), dtype=np.int64)
    policies = np.zeros((count, longest, rules.actions), dtype=np.float32)
    states = np.zeros((count, longest, packed_size(rules)), dtype=np.uint8)
    games: list[WholeGame | None] = [None] * count
    numbers = np.arange(count)
    while len(numbers):
        decisions = make_search(settings, len(numbers), rules.actions, model, rng).decide(boards, is_selfplay=True)
        at = numbers, boards.length
        drawn = boards.length < at_random[numbers]
        anywhere = np.argmax(boards.legal * rng.random(boards.legal.shape), axis=1) if drawn.any() else decisions.moves
        played = np.where(drawn, anywhere, decisions.moves)
        moves[at], policies[at], states[at] = played, decisions.policies, pack_states(boards.feature_planes())
        boards.play(played)
        for place in np.flatnonzero(boards.over):
            number, length = numbers[place], int(boards.length[place])
            winner = int(boards.winner[place])
            games[number] = WholeGame(
                moves[number, :length],
                policies[number, :length],
                winner,
                states[number, :length],
                min(int(at_random[number]), length),
            )
        boards, numbers = boards.take(~boards.over), numbers[~boards.over]
    return [game for game in games if game is not None]


def states_of(rules: GameRules, lines: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Play games again, side by side, and return the packed feature planes before each move."""
    states = [np.zeros((len(line), packed_size(rules)), dtype=np.uint8) for line in lines]
    boards, numbers = rules.batch(len(lines)), list(range(len(lines)))
    for ply in range(max(map(len, lines), default=0)):
        going_on = np.array([len(lines[number]) > ply for number in numbers])
        boards, numbers = boards.take(going_on), [number for number in numbers if len(lines[number]) > ply]
        packed = pack_states(boards.feature_planes())
        for place, number in enumerate(numbers):
            states[number][ply] = packed[place]
        boards.play(np.array([lines[number][ply] for number in numbers]))
    return states


def positions_after(rules: GameRules, lines: np.ndarray) -> PositionBatch:
    """Return the positions after lines [N, D] of equal length, which may be 0."""
    boards = rules.batch(len(lines))
    for moves in lines.T:
        boards.play(moves)
    return boards


class WholeGames:
    """The most recent games of a run, side by side in flat arrays. Position `start[g] + t` is that of game g before its move t.

    Args:
        rules: the game.
        games: the games, at least one.

    Attributes (N positions in G games):
        start, length, winner, random_moves: [G] the first position of each game, its number of moves, its winner, and how many
            of its first moves were drawn from all legal moves alike.
        game, ply: [N] the game of each position and the number of moves before it.
        moves: [N] the move that was played.
        policies: [N, A] float32.
        states: [N, ceil(P * H * W / 8)] uint8, packed.
    """

    def __init__(self, rules: GameRules, games: Sequence[WholeGame]) -> None:
        self.rules = rules
        self.length = np.array([len(game.moves) for game in games])
        self.start = np.cumsum(self.length) - self.length
        self.winner = np.array([game.winner for game in games])
        self.random_moves = np.array([game.random_moves for game in games])
        self.game = np.repeat(np.arange(len(games)), self.length)
        self.ply = np.arange(len(self.game)) - self.start[self.game]
        self.moves = np.concatenate([game.moves for game in games])
        self.policies = np.concatenate([game.policies for game in games])
        self.states = np.concatenate([game.states for game in games])

    def __len__(self) -> int:
        return len(self.moves)

    def line(self, position: int) -> tuple[int, ...]:
        """Return the moves that lead to a position."""
        first = self.start[self.game[position]]
        return tuple(self.moves[first:position].tolist())


class GamesFile:
    """The file of all games of a run.

    Args:
        path: the file; games that are already there are kept.
        rules: the game.

    Attributes:
        games: all games so far.
    """

    def __init__(self, path: Path, rules: GameRules) -> None:
        self._path, self._actions = path, rules.actions
        self.games: list[WholeGame] = []
        if not path.exists():
            return
        content = path.read_bytes()
        records = [self._read(line, number) for number, line in enumerate(content[: content.rfind(b"\n") + 1].splitlines())]
        try:
            states = states_of(rules, [moves for moves, *_ in records])
        except (ValueError, IndexError):
            raise UsageError(
                f"expected games of {rules.name} on {rules.width}x{rules.height} in {path}; one breaks the rules"
            ) from None
        self.games = [
            WholeGame(moves, policies, winner, states_, random_moves)
            for (moves, policies, winner, random_moves), states_ in zip(records, states, strict=True)
        ]

    def _read(self, line: bytes, number: int) -> tuple[np.ndarray, np.ndarray, int, int]:
        """Return the moves, the policies, the winner and the number of random moves of a game."""
        try:
            record = json.loads(line)
            moves = np.array(record["moves"], dtype=np.int64)
            policies = np.frombuffer(base64.b64decode(record["policies"]), dtype="<f2").reshape(len(moves), self._actions)
            found, winner, random_moves = int(record["game"]), int(record["winner"]), int(record.get("random_moves", 0))
        except (ValueError, KeyError, TypeError, binascii.Error):
            raise UsageError(f"expected one game of this run per line in {self._path}; got the line {line[:60]!r}") from None
        if found != number:
            raise UsageError(f"expected game {number} next in {self._path}; got game {found}")
        return moves, policies.astype(np.float32), winner, random_moves

    def keep(self, count: int) -> None:
        """Forget all games but the first `count`, for example those played after the checkpoint.

        Raises:
            UsageError: there are fewer.
        """
        if len(self.games) < count:
            raise UsageError(f"expected at least {count} games in {self._path}, as in the checkpoint; got {len(self.games)}")
        lines = self._path.read_bytes().splitlines(keepends=True)[:count] if count else []
        write_whole(self._path, b"".join(lines))
        del self.games[count:]

    def append(self, games: Sequence[WholeGame]) -> None:
        """Add games. Their policies are rounded to float16, so that a continued run learns from the same numbers."""
        with open(self._path, "ab") as file:
            for game in games:
                rounded = game.policies.astype("<f2")
                record = {
                    "game": len(self.games),
                    "winner": game.winner,
                    "random_moves": game.random_moves,
                    "moves": game.moves.tolist(),
                    "policies": base64.b64encode(rounded.tobytes()).decode(),
                }
                file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
                self.games.append(replace(game, policies=rounded.astype(np.float32)))
            file.flush()
            os.fsync(file.fileno())
