"""What a match consists of: two agents, a number of games and their terms. Each game is determined by its number."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from arena.engine.engine_process import Clock, EngineSpec, Limits
from arena.engine.specs import parse_agent
from arena.match.board_game import BoardGame
from arena.rules import SIZE, Action, centre
from common.errors import UsageError

OPENINGS = ("free", "all49")


@dataclass(frozen=True)
class GameTask:
    """One game to be played. It consists of plain values, so that it can be sent to another machine.

    Attributes:
        black, white: the engine in each seat.
        limits: the limits for both seats.
        seed: each seat's GOMOKU_SEED is derived from it, so that neither seat can infer the other's choices; None for no seed.
        opening: black's first stone, offered to both seats; an engine may play another stone instead.
        size: rows and columns of the board.
        index: number of the game in its match, from 0.
        black_agent: which agent of the match is black.
        free_opening: whether black's first stone may lie anywhere.
        game: the game of games/ to play, by players that speak GTP; None for Gomoku.
        imposed: the moves with which a game of games/ begins, black's first, and which neither player chooses.
    """

    black: EngineSpec
    white: EngineSpec
    limits: Limits = field(default_factory=Limits)
    seed: int | None = None
    opening: Action | None = None
    size: int = SIZE
    index: int = 0
    black_agent: int = 0
    free_opening: bool = False
    game: BoardGame | None = None
    imposed: tuple[Action, ...] = ()


@dataclass(frozen=True)
class MatchSetup:
    """A match between agents 0 and 1; agent 0 is black in games 0, 2, 4, ...

    Attributes:
        agents: the two engines.
        plays: number of games planned.
        seed: the seed of the match; each game's seed is derived from it and the game's number.
        limits: the limits for both seats.
        openings: "free", or "all49": games 2 k and 2 k + 1 are a colour-reversed pair that is offered the same first stone.
            The pairs visit the points of the central 7x7 in a random order determined by the seed.
        size: rows and columns of the board.
        stop: the rule that may end the match early, as the user typed it; empty for no rule.
        game: the game of games/ that is played; None for Gomoku.
        opening_stones: games of games/ begin with this many random stones, and games 2 k and 2 k + 1 with the same ones.
    """

    agents: tuple[EngineSpec, EngineSpec]
    plays: int
    seed: int
    limits: Limits = field(default_factory=Limits)
    openings: str = "free"
    size: int = SIZE
    stop: str = ""
    game: BoardGame | None = None
    opening_stones: int = 0

    @property
    def in_pairs(self) -> bool:
        """Whether games 2 k and 2 k + 1 are a colour-reversed pair, with the same opening."""
        return self.openings != "free" or self.opening_stones > 0

    def task(self, index: int) -> GameTask:
        """Return the game with this number, which does not depend on earlier games."""
        black = index % 2
        return GameTask(
            index=index,
            black_agent=black,
            black=self.agents[black],
            white=self.agents[1 - black],
            limits=self.limits,
            seed=self.game_seed(index),
            opening=self._opening(index // 2),
            size=self.size,
            game=self.game,
            imposed=self._imposed(index // 2),
        )

    def game_seed(self, index: int) -> int:
        """Return the seed of the game with this number."""
        return random.Random(f"{self.seed} game {index}").randrange(2**30)

    def _opening(self, pair: int) -> Action | None:
        if self.openings == "free":
            return None
        middle = centre(self.size)
        points = [(x, y) for x in middle for y in middle]
        random.Random(f"{self.seed} openings {pair // len(points)}").shuffle(points)
        return points[pair % len(points)]

    def _imposed(self, pair: int) -> tuple[Action, ...]:
        if self.game is None or not self.opening_stones:
            return ()
        return self.game.opening(self.opening_stones, random.Random(f"{self.seed} opening {pair}").randrange(2**32))

    def to_json(self) -> dict[str, Any]:
        """Return plain values; each agent is given by the text that names it."""
        data = {
            "agents": [agent.path for agent in self.agents],
            "plays": self.plays,
            "seed": self.seed,
            "limits": asdict(self.limits),
            "openings": self.openings,
            "size": self.size,
            "stop": self.stop,
        }
        if self.game is not None:
            data["game"] = asdict(self.game)
        if self.opening_stones:
            data["opening_stones"] = self.opening_stones
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> MatchSetup:
        """Make a setup from plain values; the inverse of `to_json`.

        Raises:
            UsageError: an agent's program no longer exists, or the values are not those of a setup.
        """
        try:
            game = BoardGame(**data["game"]) if data.get("game") else None
            first, second = (parse_agent(words) if game is None else game.player(words) for words in data["agents"])
            limits = Limits(**{**data["limits"], "clock": Clock(data["limits"]["clock"])})
            return cls(**{**data, "agents": (first, second), "limits": limits, "game": game})
        except (KeyError, TypeError, ValueError) as error:
            raise UsageError(f"expected the description of a match in the records; it is damaged: {error!r}") from error

    @staticmethod
    def identity(data: Mapping[str, Any]) -> dict[str, Any]:
        """Return what two records must share so that their games belong to one match; the number of games may differ."""
        return {name: value for name, value in data.items() if name not in ("plays", "stop")}
