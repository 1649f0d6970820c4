"""The games that the protocol check plays with one colour, and the faults that they reveal.

The engine plays tame opponents, which reveal the board that it has in mind (`tame_player.py`, `beliefs.py`), and then a full
game against the baseline. Black's first stone may be anywhere, since another check tests it.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from arena.engine.cores import one_core
from arena.engine.engine_process import EngineSpec, Limits
from arena.match.referee import GameRecord, play_game
from arena.match.setup import GameTask
from arena.rules import Action, centre
from grader.judge.support.beliefs import TAKEN, forgets_the_swap, temptations
from grader.judge.support.engine_talk import explain_fault

TAME_PLAYER = Path(__file__).with_name("tame_player.py")
TAME_MOVE_S = 0.3  # the time per move that is announced to an engine in games against tame opponents
# The numbers of games in which an engine may show that it forgets a swap. A correct engine needs two or three to show that it
# does not; an engine that forgets is convicted after eight or nine.
LEAST_TRIALS, MOST_TRIALS = 2, 14
UNTAKEN_OFFERS = 4  # a white engine that has never swapped in this many games gets no further offers


@dataclass
class Side:
    """The games of the protocol check in which the engine has one colour.

    Attributes:
        seat: the engine's seat; 0 is black.
        games: the games played so far.
        baseline: the opponent in the last game; None if that game is not played.
        trials: the games against the opponent that reveals whether the engine understood a swap.
    """

    seat: int
    engine: EngineSpec
    baseline: EngineSpec | None
    limits: Limits
    rng: Random
    games: list[GameRecord] = field(default_factory=list)
    trials: list[GameRecord] = field(default_factory=list)

    @property
    def colour(self) -> str:
        return ("black", "white")[self.seat]

    def play(self) -> list[GameRecord]:
        """Play all games; stop early at a game that the engine loses by a fault or that cannot be decided."""
        tame = replace(self.limits, told_move_s=min(self.limits.told_s, TAME_MOVE_S))
        with one_core():
            self._game(_tame_player("blocks"), tame)
            while not self._is_over and not self._is_tried:
                # An engine that mistakes the swap for the start of a new game opens again, sooner or later on its own stone.
                opening = (self.rng.choice(centre()), self.rng.choice(centre()))
                self.trials.append(self._game(_tame_player(("lures", "gives")[self.seat]), tame, opening))
            if not self._is_over and self.baseline is not None:
                self._game(self.baseline, self.limits)
        return self.games

    def _game(self, opponent: EngineSpec, limits: Limits, opening: Action | None = None) -> GameRecord:
        black, white = (self.engine, opponent) if self.seat == 0 else (opponent, self.engine)
        seed = self.rng.randrange(2**31)
        self.games.append(play_game(GameTask(black, white, limits, seed=seed, opening=opening, free_opening=True)))
        return self.games[-1]

    @property
    def _is_over(self) -> bool:
        return self.games[-1].faulty == self.seat or not self.games[-1].is_decided

    @property
    def _is_tried(self) -> bool:
        """Whether further trials would show nothing new."""
        if len(self.trials) < LEAST_TRIALS:
            return False
        untaken = len(self.trials) >= UNTAKEN_OFFERS and not any(game.swapped for game in self.trials)
        return untaken or len(self.trials) == MOST_TRIALS or self._forgets_the_swap is not None

    @property
    def _forgets_the_swap(self) -> bool | None:
        return forgets_the_swap((game.moves for game in self.trials), self.seat)

    def fault(self) -> str:
        """Return how the engine broke the protocol, or "" if it did not."""
        game = self.games[-1]
        if game.faulty == self.seat:
            after = " after a swap" if game.swapped else ""
            sentence = f"As {self.colour} it lost{after} by {game.termination.value}: {game.detail}."
            return f"{sentence} {explain_fault(game, self.seat, self.engine, self.limits)}".strip()
        if self._forgets_the_swap:
            told = "told of a swap" if self.seat == 0 else "after its own swap"
            number, met = next(
                (number, met)
                for number, game in enumerate(self.trials, 2)  # game 1 is not a trial
                for met in temptations(game.moves, self.seat)
                if met.is_taken
            )
            return (
                f"As {self.colour}, {told}, it went on as if no stone had changed hands: {TAKEN} times it completed or blocked "
                f"five in a row that exists only with the old colours, first with {met.answer[0]} {met.answer[1]} "
                f"at ply {met.ply} of game {number}."
            )
        return ""

    def endings(self) -> str:
        """Return a phrase that says how many games ended in each way."""
        ends = Counter(
            "broken off" if game.faulty == 1 - self.seat else f"ended by {game.termination.value}" for game in self.games
        )
        return ", ".join(f"{count} {'game' if count == 1 else 'games'} {end}" for end, count in ends.items())


def _tame_player(role: str) -> EngineSpec:
    return EngineSpec(path=role, command=(sys.executable, "-I", str(TAME_PLAYER), role))
