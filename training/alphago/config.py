"""Settings of the stages, as in the files of training/configs."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from dataclasses import MISSING, dataclass, fields, replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import Any

from games.catalog import rules_of
from games.protocol import GameRules
from training.supervised.settings import CallError, SupervisedConfig, check_values

ROLLOUTS = ("random", "pattern", "policy")
"""The kinds of rollouts: with random moves, with the rollout policy, or with the supervised network's policy."""
SETTINGS_OF_GAMES = {"gomoku": ("n_in_row",), "go": ("komi",)}
"""The settings of each game besides the size of its board; see games.catalog.rules_of."""


@dataclass(frozen=True)
class ReinforceSettings:
    """Settings of the policy gradient.

    Attributes:
        games: n, the number of games in a step, all side by side against one opponent; the learner moves first in half of them.
        steps: the number of steps in the whole stage.
        learning_rate: the learning rate of plain gradient ascent.
        max_gradient: longer gradients are clipped to this length.
        baseline: whether the supervised network's value is subtracted from the result.
        pool_every: the number of steps after which the current network is added to the pool of opponents.
        check_every: the number of steps between two measurements.
        check_games: the number of games against the supervised policy in each measurement.
        match_games: the number of games in each measurement at the end.
        sharpness: the policy and its pool begin with the supervised policy to this power, normalised; a file may leave it out.
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
    sharpness: float = 1.0


@dataclass(frozen=True)
class ValueSettings:
    """Settings of the value network.

    Attributes:
        games: the number of self-play games; those whose number is a multiple of 20 are held back.
        side_by_side: the number of games played at once.
        longest_start: the largest possible U, the number of the random move, which is drawn from 1 upwards.
        samples, batch_size, learning_rate, weight_decay, check_every: as in training.supervised.learning.
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
class RolloutSettings:
    """Settings of the rollout policy.

    Attributes:
        samples, batch_size: the number of positions learnt from in all, and in one step.
        learning_rate, weight_decay: those of Adam.
    """

    samples: int
    batch_size: int
    learning_rate: float
    weight_decay: float


@dataclass(frozen=True)
class SearchSettings:
    """Settings of the search.

    Attributes:
        lambdas: the rollout's shares of a leaf's value; searches with different shares play each other.
        playouts, c_puct: the number of playouts per move and the exploration constant of every search.
        rollout: the kind of rollout from a leaf, one of ROLLOUTS.
        games: the number of games in each pairing.
        opening_stones: the number of stones placed at random first, as in training.matches.
    """

    lambdas: list[float]
    playouts: int
    c_puct: float
    rollout: str
    games: int
    opening_stones: int


@dataclass(frozen=True)
class Numbers:
    """The numbers in a file of settings that are outside its sections."""

    seed: int
    n_in_row: int
    komi: float


LEAST = {"weight_decay": 0, "opening_stones": 0, "playouts": 2}  # with 1 playout, a search draws its move at random
MATCHES = (("reinforce", "check_games"), ("reinforce", "match_games"), ("search", "games"))
SECTIONS: dict[str, type] = {
    "rollout": RolloutSettings,
    "reinforce": ReinforceSettings,
    "value": ValueSettings,
    "search": SearchSettings,
}


@dataclass(frozen=True)
class StagesConfig:
    """Settings of all stages.

    Attributes:
        game_settings: the settings of the game that the supervised stage does not need (SETTINGS_OF_GAMES). The game itself
            and the size of its board are those of the supervised stage.
        seed: the seed of all random numbers but those of the supervised stage.
        supervised: the settings of the supervised stage.
        rollout, reinforce, value, search: the settings of the other stages; there is no rollout policy in a game without rows.
    """

    game_settings: dict[str, Any]
    seed: int
    supervised: SupervisedConfig
    rollout: RolloutSettings | None
    reinforce: ReinforceSettings
    value: ValueSettings
    search: SearchSettings

    @property
    def size(self) -> int:
        """The side length of the square board."""
        return self.supervised.size

    @cached_property
    def rules(self) -> GameRules:
        """The game; UsageError if there is none of this size."""
        return rules_of(self.supervised.game, self.size, self.size, **self.game_settings)

    @property
    def n_in_row(self) -> int | None:
        """The length of a winning row; None in a game without rows."""
        return self.game_settings.get("n_in_row")

    @property
    def recorded_game(self) -> dict[str, Any]:
        """What the files of a run say of the game; those that name none are of Gomoku."""
        game = {} if self.supervised.game == "gomoku" else {"game": self.supervised.game}
        return {"size": self.size, **game, **self.game_settings}

    def seeded(self, seed: int) -> StagesConfig:
        """Return the same settings with another seed, of the supervised stage too; CallError if it is negative."""
        return replace(self, seed=seed, supervised=self.supervised.seeded(seed))

    @staticmethod
    def read(path: Path) -> StagesConfig:
        """Read a file of settings, and the file in the same folder that it names for the supervised stage.

        Raises:
            CallError: one of the files cannot be used.
        """
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CallError(f"expected a configuration in {path}; {error}") from error
        if "supervised" not in table:
            raise CallError(f"expected supervised, the name of a file of settings, in {path}")
        supervised = SupervisedConfig.read(str(path.parent / str(table["supervised"])))
        of_game = SETTINGS_OF_GAMES.get(supervised.game, ())
        in_rows = "n_in_row" in of_game
        named = {name: kind for name, kind in SECTIONS.items() if in_rows or name != "rollout"}
        _check_names(table, {"seed", "supervised", *of_game, *named}, str(path))
        sections: dict[str, Any] = {"rollout": None}
        for name, kind in named.items():
            may_lack = {field.name for field in fields(kind) if field.default is not MISSING}
            _check_names(table[name], {field.name for field in fields(kind)}, f"[{name}] of {path}", may_lack)
            check_values(table[name], kind, f"[{name}] of {path}", least=LEAST)
            sections[name] = kind(**table[name])
        check_values({name: table[name] for name in ("seed", *of_game)}, Numbers, str(path), least={"seed": 0, "komi": -inf})
        config = StagesConfig(
            game_settings={name: table[name] for name in of_game},
            seed=table["seed"],
            supervised=supervised,
            **sections,
        )
        rollouts = ROLLOUTS if in_rows else tuple(kind for kind in ROLLOUTS if kind != "pattern")
        for wrong, expected in (
            (in_rows and not 1 <= table["n_in_row"] <= config.size, f"n_in_row from 1 to the size, {config.size}"),
            (
                not 1 <= config.value.longest_start < config.size**2,
                "longest_start of at least 1 and below the number of points",
            ),
            (
                not all(type(share) in (int, float) and 0 <= share <= 1 for share in config.search.lambdas),
                "lambdas from 0 to 1",
            ),
            (config.search.rollout not in rollouts, f"rollout to be one of {', '.join(rollouts)}"),
            *(
                (
                    getattr(sections[name], number) % 2,
                    f"an even number of games as {number} of [{name}], since openings are played with both colours",
                )
                for name, number in MATCHES
            ),
        ):
            if wrong:
                raise CallError(f"expected {expected}, in {path}")
        return config


def _check_names(table: Any, names: set[str], where: str, may_lack: Collection[str] = ()) -> None:
    given = set(table) if isinstance(table, dict) else set()
    if differing := (given - names) | (names - given).difference(may_lack):
        raise CallError(f"expected {', '.join(sorted(names))} in {where}; differing: {', '.join(sorted(differing))}")
