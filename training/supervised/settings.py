"""Settings of supervised training, and the check of the values in such files."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from math import isfinite
from pathlib import Path
from typing import Any, get_type_hints

from games.catalog import rules_of
from games.protocol import GameRules

NETWORKS = ("course", "residual", "pooled")
MAY_BE_ZERO = ("seed", "weight_decay", "value_weight", "td_lambda")


class CallError(ValueError):
    """Raised when the call was wrong; the message is one sentence for the user."""


@dataclass(frozen=True)
class SupervisedConfig:
    """Settings of a training run, as in the files of training/configs.

    Attributes:
        size: the side length of the square board.
        depths: pairs (samples, blocks): from this number of samples on, the network has this number of residual blocks.
        samples: the number of samples in the whole run.
        batch_size: the number of samples per step.
        learning_rate: the highest value of the schedule.
        weight_decay, value_weight, td_lambda, score_scale: see the docstrings of `learning.py` and `dataset.py`.
        check_every: the number of samples between two evaluations on the held-back part.
        seed: the seed of the initial weights and of all random numbers.
        game: the name of the game, one of games.catalog.GAMES.
        network: the kind of network, one of NETWORKS; the course's plays only Gomoku.
        filters: the number of filters of a residual network.
    """

    size: int
    depths: list[list[int]]
    samples: int
    batch_size: int
    learning_rate: float
    weight_decay: float
    value_weight: float
    td_lambda: float
    score_scale: float
    check_every: int
    seed: int
    game: str = "gomoku"
    network: str = "course"
    filters: int = 64

    @property
    def rules(self) -> GameRules:
        """The game as far as a network sees it: the length of a winning row shows only in the results of games."""
        return rules_of(self.game, self.size, self.size, n_in_row=1)

    def blocks_at(self, samples: int) -> int:
        """Return the number of residual blocks after this number of samples."""
        return [blocks for start, blocks in self.depths if start <= samples][-1]

    def seeded(self, seed: int) -> SupervisedConfig:
        """Return the same settings with another seed; CallError if it is negative."""
        if seed < 0:
            raise CallError(f"expected a seed of at least 0; got {seed}")
        return replace(self, seed=seed)

    @staticmethod
    def read(path: str) -> SupervisedConfig:
        """Read a file of settings; raise CallError if it cannot be used."""
        try:
            table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CallError(f"expected a configuration in {path}; {error}") from error
        names = {field.name for field in fields(SupervisedConfig)}
        differing = set(table) ^ names - (DEFAULTS.keys() - table.keys())
        if differing:
            raise CallError(f"expected {', '.join(sorted(names))} in {path}; differing: {', '.join(sorted(differing))}")
        check_values(table, SupervisedConfig, path, least=dict.fromkeys(MAY_BE_ZERO, 0))
        config = SupervisedConfig(**table)
        if not all(isinstance(depth, list) and [type(number) for number in depth] == [int, int] for depth in config.depths):
            raise CallError(f"expected depths as pairs (samples, blocks) of whole numbers in {path}; got {config.depths}")
        if config.td_lambda > 1:
            raise CallError(f"expected td_lambda from 0 to 1 in {path}; got {config.td_lambda:g}")
        if config.network not in NETWORKS:
            raise CallError(f"expected a network of {' or '.join(NETWORKS)} in {path}; got {config.network}")
        if config.rules.name != "gomoku" and config.network == "course":
            others = " or ".join(f'"{network}"' for network in NETWORKS if network != "course")
            raise CallError(f"expected network = {others} in {path}, since the course's network plays only Gomoku")
        blocks = [depth[1] for depth in config.depths]
        if config.network != "course" and min(blocks) < 1:
            raise CallError(f"expected depths of at least 1 block for a residual network in {path}; got {config.depths}")
        if config.depths[0][0] != 0 or blocks[0] < 0 or blocks != sorted(blocks) or config.depths != sorted(config.depths):
            raise CallError(f"expected depths that start at 0 samples and grow in {path}; got {config.depths}")
        return config


# The settings that a file or an earlier run may leave out.
DEFAULTS = {field.name: field.default for field in fields(SupervisedConfig) if field.default is not MISSING}


def check_values(values: Mapping[str, Any], kind: type, where: str, least: Mapping[str, float]) -> None:
    """Check the types and ranges of settings that were read from a file. Lists are checked only for having elements.

    Args:
        values: name -> value.
        kind: the dataclass of these settings.
        where: where they were read, for the sentence.
        least: the smallest values of numbers that are not simply at least 1 (whole numbers) or above 0 (all others).

    Raises:
        CallError: a value has another type than the settings have, or is out of its range.
    """
    hints = get_type_hints(kind)
    for name, value in values.items():
        wanted, smallest = hints[name], least.get(name)
        if wanted is int:
            right = type(value) is int and value >= (1 if smallest is None else smallest)
            words = f"a whole number of at least {1 if smallest is None else smallest:g}"
        elif wanted is float:
            is_number = type(value) in (int, float) and isfinite(value)
            right = is_number and (value > 0 if smallest is None else value >= smallest)
            words = "a number above 0" if smallest is None else f"a number of at least {smallest:g}"
        elif wanted in (bool, str):
            right, words = type(value) is wanted, "true or false" if wanted is bool else "text in quotes"
        else:
            right, words = isinstance(value, list) and bool(value), "a list of at least one element"
        if not right:
            raise CallError(f"expected {name} = {words} in {where}; got {value!r}")
