"""Settings of the stages, as a file of training/configs describes them, and what a run keeps where."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from training.supervised import CallError, SupervisedConfig


@dataclass(frozen=True)
class ReinforceSettings:
    """Stage 2.

    Attributes:
        games: n of a step, all side by side against one opponent, the learner being first in half of them.
        steps: of the whole stage.
        learning_rate: of plain gradient ascent.
        max_gradient: longer gradients are cut to this length.
        baseline: whether the supervised network's value is taken off the result.
        pool_every: steps between two networks that the pool of opponents takes in.
        check_every: steps between two measurements, by check_games games against the supervised policy.
        match_games: of the measurement at the end.
    """

    games: int
    steps: int
    learning_rate: float
    max_gradient: float
    baseline: bool
    pool_every: int
    check_every: int
    check_games: int
    match_games: int


@dataclass(frozen=True)
class ValueSettings:
    """Stage 3.

    Attributes:
        games: of self-play; those whose number is a multiple of 20 are held back.
        side_by_side: games played at once.
        longest_start: U, the time of the random move, is drawn from 1 to this.
        samples, batch_size, learning_rate, weight_decay, check_every: of the training, as in training.supervised.
    """

    games: int
    side_by_side: int
    longest_start: int
    samples: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    check_every: int


@dataclass(frozen=True)
class SearchSettings:
    """Stage 4.

    Attributes:
        lambdas: shares of the rollout in a leaf's value; each plays each other one.
        playouts, c_puct: of the search, the same for all.
        rollout: what plays a leaf to its end, one of ROLLOUTS of mixed.py.
        games: of each pairing.
        opening_stones: set at random before, as in training.matches.
    """

    lambdas: list[float]
    playouts: int
    c_puct: float
    rollout: str
    games: int
    opening_stones: int


@dataclass(frozen=True)
class StagesConfig:
    """All stages.

    Attributes:
        n_in_row: of the board; its size is that of the supervised stage.
        seed: of all draws of stages 2 to 4.
        supervised: stage 1.
    """

    n_in_row: int
    seed: int
    supervised: SupervisedConfig
    supervised_path: Path
    reinforce: ReinforceSettings
    value: ValueSettings
    search: SearchSettings

    @property
    def size(self) -> int:
        """Of the square board."""
        return self.supervised.size

    @property
    def board(self) -> tuple[int, int, int]:
        """width, height, n_in_row"""
        return self.size, self.size, self.n_in_row

    @staticmethod
    def read(path: Path) -> StagesConfig:
        """A file of settings; it names that of the supervised stage, which lies beside it.

        Raises:
            CallError: it is none.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CallError(f"expected a configuration in {path}; {error}") from error
        _check_names(table, {"n_in_row", "seed", "supervised", "reinforce", "value", "search"}, str(path))
        sections: dict[str, Any] = {}
        for name, kind in (("reinforce", ReinforceSettings), ("value", ValueSettings), ("search", SearchSettings)):
            _check_names(table[name], {field.name for field in fields(kind)}, f"[{name}] of {path}")
            sections[name] = kind(**table[name])
        supervised = path.parent / table["supervised"]
        config = StagesConfig(
            n_in_row=table["n_in_row"],
            seed=table["seed"],
            supervised=SupervisedConfig.read(str(supervised)),
            supervised_path=supervised,
            **sections,
        )
        for wrong, expected in (
            (not 1 <= config.n_in_row <= config.size, f"n_in_row from 1 to the size, {config.size}"),
            (not 1 <= config.value.longest_start < config.size**2, "longest_start of at least 1 and less than the points"),
            (not all(0 <= share <= 1 for share in config.search.lambdas), "lambdas from 0 to 1"),
        ):
            if wrong:
                raise CallError(f"expected {expected}, in {path}")
        return config


def _check_names(table: Any, names: set[str], where: str) -> None:
    found = set(table) if isinstance(table, dict) else set()
    if found != names:
        raise CallError(f"expected {', '.join(sorted(names))} in {where}; differing: {', '.join(sorted(found ^ names))}")
