"""Many games between two agents, several at once, each recorded the moment it ends."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from Minimax.arena.cores import available_cores, one_core
from Minimax.arena.engine import MatchStopped
from Minimax.arena.records import Records, machine
from Minimax.arena.referee import GameRecord, play_game
from Minimax.arena.setup import GameTask, MatchSetup
from Minimax.arena.statistics import GameResult, MatchStatistics, match_statistics, move_times, wilson_95
from Minimax.arena.stopping import InOrder, Rule

OnGame = Callable[[GameRecord], None]
# Plays tasks, yields each game as it ends; closed early, it ends the games in progress.
Runner = Callable[[Iterable[GameTask]], Generator[GameRecord, None, None]]


@dataclass(frozen=True)
class MatchResult:
    """The games of a match, in order, and what they were played under.

    Attributes:
        stopped: why it ended before its last game, empty if it did not.
    """

    setup: MatchSetup
    games: tuple[GameRecord, ...]
    stopped: str = ""

    @property
    def plays(self) -> int:
        return len(self.games)

    def wins(self, agent: int) -> int:
        """Games that the agent won."""
        return sum(game.winner == agent for game in self.games)

    def score(self, agent: int) -> float:
        """(wins - losses) / plays, 0 without a game."""
        return (self.wins(agent) - self.wins(1 - agent)) / self.plays if self.plays else 0.0

    @property
    def distinct_games(self) -> int:
        """Games that differ in their moves or in who was black; repeated games are one observation."""
        return self.statistics(0).distinct_games

    def statistics(self, agent: int) -> MatchStatistics:
        """What the games say about an agent."""
        return match_statistics([result_for(game, agent, self.setup) for game in self.games])

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `evaluate.py --json` writes them."""
        return {
            "plays": self.plays,
            "draws": sum(game.winner is None for game in self.games),
            "distinct_games": self.distinct_games,
            "terminations": dict(Counter(game.termination.value for game in self.games)),
            "agents": [self._agent(agent) for agent in (0, 1)],
            "stopped": self.stopped,
            **{name: value for name, value in self.setup.to_json().items() if name not in ("agents", "plays")},
            "machine": machine(),
            "games": [game.to_json() for game in self.games],
        }

    def _agent(self, agent: int) -> dict[str, Any]:
        names = [game.names[agent] for game in self.games if game.names[agent]]
        lost = [game for game in self.games if game.winner == 1 - agent]

        def times(kind: str) -> list[float]:
            return [
                seconds
                for game in self.games
                for ply, seconds in enumerate(getattr(game, kind))
                if (ply % 2 == 0) == (game.black == agent)
            ]

        return {
            "path": self.setup.agents[agent].path,
            "name": names[0] if names else "",
            "wins": self.wins(agent),
            "losses": len(lost),
            "score": self.score(agent),
            "wilson_95": list(wilson_95(self.wins(agent), self.plays)),
            "statistics": self.statistics(agent).to_json(),
            "move_s": move_times(times("move_s")),
            "move_cpu_s": move_times(times("move_cpu_s")),
            "losses_by": dict(Counter(game.termination.value for game in lost)),
        }


def result_for(game: GameRecord, agent: int, setup: MatchSetup) -> GameResult:
    """A game as statistics see it. Where openings are imposed, games 2 k and 2 k + 1 are a pair."""
    value = 0.5 if game.winner is None else float(game.winner == agent)
    pair = game.index // 2 if setup.openings != "free" else None
    return GameResult(value, pair=pair, identity=(game.black, game.moves))


class ThreadRunner:
    """Plays games side by side on this machine.

    Threads, since a game's work is done by its engines, which are processes of their own: the referee's part is less than
    a millisecond a move.

    Args:
        workers: games at once; lowered to the cores there are, since engines that share a core take each other's time.
    """

    def __init__(self, workers: int) -> None:
        self.workers = max(1, min(workers, available_cores()))

    def __call__(self, tasks: Iterable[GameTask]) -> Generator[GameRecord, None, None]:
        stopping = threading.Event()

        def play(task: GameTask) -> GameRecord | None:
            try:
                if stopping.is_set():
                    return None
                with one_core():
                    return play_task(task, stopping)
            except MatchStopped:
                return None

        with ThreadPoolExecutor(self.workers) as pool:
            waiting: set[Future[GameRecord | None]] = {pool.submit(play, task) for task in tasks}
            try:
                while waiting:
                    finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from filter(None, [future.result() for future in finished])
            finally:
                stopping.set()
                for future in waiting:
                    future.cancel()


def play_task(task: GameTask, stopping: threading.Event | None = None) -> GameRecord:
    """Play one game of a match."""
    return play_game(
        task.black,
        task.white,
        task.limits,
        seed=task.seed,
        opening=task.opening,
        size=task.size,
        index=task.index,
        black_agent=task.black_agent,
        stopping=stopping,
    )


def play_match(
    setup: MatchSetup,
    runner: Runner,
    *,
    on_game: OnGame | None = None,
    records: Records | None = None,
    rule: Rule | None = None,
) -> MatchResult:
    """Play a match to its end, or until the rule ends it.

    Args:
        runner: what plays the games.
        on_game: is called with each game, also with those of the records.
        records: of this match; its games are not played again, new ones are appended.
        rule: is told agent 0's results in the order of the games' numbers; when it ends the match, the games up to there
            are the match.

    Raises:
        KeyboardInterrupt: after the games in progress were ended; finished ones are in the records.
    """
    done = {index: game for index, game in records.games.items() if index < setup.plays} if records else {}
    for index in sorted(done):
        if on_game is not None:
            on_game(done[index])
    judged = _Judged(setup, rule)
    for index in sorted(done):
        judged.look_at(done[index])
    missing = [setup.task(index) for index in range(setup.plays) if index not in done]
    if missing and not judged.reason:
        # Closed at once, not when collected: the games in progress end here.
        with closing(runner(missing)) as games:
            for game in games:
                done[game.index] = game
                if records is not None:
                    records.append(game)
                if on_game is not None:
                    on_game(game)
                judged.look_at(game)
                if judged.reason:
                    break
    counted = judged.counted if judged.reason else setup.plays
    return MatchResult(setup, tuple(done[index] for index in sorted(done) if index < counted), judged.reason)


class _Judged:
    """What a rule makes of the games so far."""

    def __init__(self, setup: MatchSetup, rule: Rule | None) -> None:
        self._setup = setup
        self._rule = None if rule is None else InOrder(rule)
        self.reason = ""

    @property
    def counted(self) -> int:
        return 0 if self._rule is None else self._rule.counted

    def look_at(self, game: GameRecord) -> None:
        if self._rule is not None and not self.reason:
            self.reason = self._rule.add(game.index, result_for(game, 0, self._setup)) or ""
