"""Positions from games that an engine played against itself, for supervised training.

The games are JSON lines (docs/training.md, Supervised weights). In memory they are kept as moves and numbers, about 30 bytes
per position. The feature planes of a batch are those of the game (`games.protocol`). The network learns from the
positions that have a best move; a game may have best moves only for its first positions. Values are for the side to move.

The value of a position mixes the engine's scores with the result of the game by TD(lambda) (Sutton 1988):

    v_t = s_t                                   if the move was drawn at random: the rest of the game says nothing about t
    v_t = (1 - lambda) s_t - lambda v_{t+1}     otherwise; after the last move, v is the result: -1 for the loser
    s_t = tanh(score_t / score_scale), or 1 or -1 if the engine has proven a win
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from games.protocol import GameRules, PositionBatch

SURE_WIN = 900_000  # scores beyond this are proven wins
HELD_BACK_EVERY = 20  # games whose seed is a multiple of this are held back from training
HASH_SEED = 1
IN_A_GAME = {"seed", "opening", "winner", "moves", "best", "scores", "random"}


class GamesError(ValueError):
    """Raised when files of games cannot be used; the message is one sentence for the user."""


@dataclass(frozen=True)
class Positions:
    """Positions with the engine's moves and values.

    Attributes:
        rules: the game.
        moves: [games, longest_game] unsigned, the moves of each game, padded with 0.
        game: [N] int32, the row of the position's game in `moves`.
        ply: [N] int32, the number of moves before the position. They are the first moves of its game.
        best: [N] unsigned, the engine's move.
        value: [N] float32 in [-1, 1], by the formula in the module's docstring; their mean if several games share it.
        key: [N] uint64, see `position_keys`.
    """

    rules: GameRules
    moves: np.ndarray
    game: np.ndarray
    ply: np.ndarray
    best: np.ndarray
    value: np.ndarray
    key: np.ndarray

    def __len__(self) -> int:
        return len(self.game)

    def where(self, chosen: np.ndarray) -> Positions:
        """Return some of the positions, chosen by a mask or an array of indices."""
        kept = {name: getattr(self, name)[chosen] for name in ("game", "ply", "best", "value", "key")}
        return replace(self, **kept)

    def batch(self, indices: np.ndarray, symmetries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return a batch for training: inputs and targets.

        Args:
            indices: [B] the positions.
            symmetries: [B] the symmetry of the game to apply to each position.

        Returns:
            states [B, planes, H, W] float32, moves [B] int64, values [B] float32.
        """
        turned = self.rules.symmetries.turned_moves[symmetries]
        best = np.take_along_axis(turned, self.best[indices][:, None], axis=1)[:, 0]
        return self.boards(indices, symmetries).feature_planes(), best, self.value[indices]

    def boards(self, indices: np.ndarray, symmetries: np.ndarray) -> PositionBatch:
        """Return B positions themselves; arguments as in `batch`."""
        turned = self.rules.symmetries.turned_moves[symmetries]
        ply = self.ply[indices]
        lines = np.take_along_axis(turned, self.moves[self.game[indices], : int(ply.max(initial=0))], axis=1)
        boards = self.rules.batch(len(indices))
        begun = ply > 0
        if begun.any():
            played = boards.take(begun)
            played.play_lines(lines[begun], ply[begun])
            boards.put(begun, played)
        return boards


def position_keys(rules: GameRules, moves: np.ndarray) -> np.ndarray:
    """Return a key for each position of a game, [plies + 1] uint64.

    Positions share a key if both players have made the same moves in any order, up to a symmetry. In a game without captures
    their stones are the same.
    """
    random = np.random.default_rng(HASH_SEED).integers(1, 2**63, size=(2, rules.actions), dtype=np.uint64)
    turned = rules.symmetries.turned_moves[:, moves]
    of_moves = random[np.arange(len(moves)) % 2, turned]
    hashes = np.zeros((len(turned), len(moves) + 1), dtype=np.uint64)
    hashes[:, 1:] = np.add.accumulate(of_moves, axis=1)
    return hashes.min(axis=0)


def td_values(game: dict[str, Any], td_lambda: float, score_scale: float) -> np.ndarray:
    """Return the values of a game's scored positions, [positions] float32, by the formula in the module's docstring."""
    scores = np.asarray(game["scores"], dtype=np.float64)
    squashed = np.where(np.abs(scores) > SURE_WIN, np.sign(scores), np.tanh(scores / score_scale))
    plies = len(game["moves"])
    following = 0.0 if game["winner"] < 0 else (1.0 if game["winner"] == plies % 2 else -1.0)
    drawn = set(game["random"])
    for at in reversed(range(len(scores))):
        own_score = squashed[at]
        following = own_score if game["opening"] + at in drawn else (1 - td_lambda) * own_score - td_lambda * following
        squashed[at] = following
    return squashed.astype(np.float32)


def read_games(path: str) -> Iterator[dict[str, Any]]:
    """Yield the settings of a file and then its games; skip an incomplete last line, which is still being written.

    Raises:
        GamesError: the file cannot be read or contains something else.
    """
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")[:-1]
        for line in map(json.loads, lines):
            if not isinstance(line, dict):
                raise ValueError(f"a line holds {str(line)[:40]}")
            yield line
    except (OSError, ValueError) as error:
        raise GamesError(f"expected games of the teacher in {path}; {error}") from error


def load_positions(paths: Sequence[str], rules: GameRules, td_lambda: float, score_scale: float) -> tuple[Positions, Positions]:
    """Read files of games.

    Args:
        paths: the files.
        rules: the game and its square board, which those of the files must be.
        td_lambda, score_scale: parameters of the values, see the module's docstring.

    Returns:
        (training part, held-back part). The parts share no game. No key (`position_keys`) occurs twice in one part, and none
        from the held-back part occurs in the training part.

    Raises:
        GamesError: a file cannot be read or holds another game or board size, or one of the parts would be empty.
    """
    games = list(_games(paths, rules))
    kind = np.min_scalar_type(rules.actions - 1)
    moves = np.zeros((len(games), rules.longest_game), dtype=kind)
    parts: dict[str, list[np.ndarray]] = {"game": [], "ply": [], "best": [], "value": [], "key": []}
    for number, game in enumerate(games):
        played = np.asarray(game["moves"])
        moves[number, : len(played)] = played
        labelled = len(game["best"])
        parts["game"].append(np.full(labelled, number, dtype=np.int32))
        parts["ply"].append(np.arange(game["opening"], game["opening"] + labelled, dtype=np.int32))
        parts["best"].append(np.asarray(game["best"], dtype=kind))
        parts["value"].append(td_values(game, td_lambda, score_scale)[:labelled])
        parts["key"].append(position_keys(rules, played)[game["opening"] : game["opening"] + labelled])
    is_held_back = np.array([game["seed"] % HELD_BACK_EVERY == 0 for game in games], dtype=bool)
    if not 0 < is_held_back.sum() < len(games):
        raise GamesError(
            f"expected some games with seeds that are multiples of {HELD_BACK_EVERY} and some with other seeds "
            f"in {', '.join(paths) or 'no file'}; "
            f"got {len(games)} games"
        )
    everything = Positions(rules, moves, **{name: np.concatenate(arrays) for name, arrays in parts.items()})
    held_back = is_held_back[everything.game]
    train = _unique(everything.where(~held_back))
    apart = _unique(everything.where(held_back))
    if not len(train):
        raise GamesError(f"expected positions with a best move to learn from in {', '.join(paths)}; there are none")
    return train, apart.where(~np.isin(apart.key, train.key))


def _games(paths: Iterable[str], rules: GameRules) -> Iterator[dict[str, Any]]:
    size = rules.width
    for path in paths:
        lines = read_games(path)
        settings = next(lines, {"size": size, "game": rules.name})  # still empty if the teacher has only just created it
        if settings.get("size") != size:
            raise GamesError(f"expected games on {size}x{size} in {path}; its size is {settings.get('size')}")
        game = settings.get("game", "gomoku")  # the course's teacher plays nothing else
        if game != rules.name:
            raise GamesError(f"expected games of {rules.name} in {path}; it holds games of {game}")
        for line in lines:
            if missing := IN_A_GAME - line.keys():
                raise GamesError(
                    f"expected {', '.join(sorted(missing))} in each game of {path}; one has only {', '.join(line)}"
                )
            if wrong := _wrong_in(line, rules):
                raise GamesError(f"expected {wrong} in each game of {path}; the game with the seed {line['seed']!r} differs")
            yield line


def _wrong_in(game: dict[str, Any], rules: GameRules) -> str:
    """Return what a game ought to have and has not; empty if its numbers can be used. Its moves are not played."""

    def are_whole(numbers: Any, least: int, below: float = inf) -> bool:
        return isinstance(numbers, list) and all(type(each) is int and least <= each < below for each in numbers)

    moves, best, scores, opening = game["moves"], game["best"], game["scores"], game["opening"]
    if not are_whole([game["seed"], opening], 0) or not are_whole(game["random"], 0) or game["winner"] not in (-1, 0, 1):
        return "whole numbers of at least 0 as seed, opening and random plies, and a winner of 0, 1 or -1"
    if not (are_whole(moves, 0, rules.actions) and are_whole(best, 0, rules.actions) and 0 < len(moves) <= rules.longest_game):
        return f"1 to {rules.longest_game} moves, and only moves from 0 to {rules.actions - 1}"
    if not isinstance(scores, list) or not all(type(score) in (int, float) and isfinite(score) for score in scores):
        return "numbers as scores"
    if not len(best) <= len(scores) == max(0, len(moves) - opening):  # a game may end before its opening does
        return "a score for each position after the opening, and no more best moves than scores"
    return ""


def _unique(positions: Positions) -> Positions:
    """Keep only the first of any positions with equal keys, with the mean of their values: each may have its own result."""
    _, first, which, counts = np.unique(positions.key, return_index=True, return_inverse=True, return_counts=True)
    means = (np.bincount(which, positions.value, len(first)) / counts).astype(np.float32)
    in_order = np.argsort(first)
    return replace(positions.where(first[in_order]), value=means[in_order])
