"""A match: many games between two agents, several at once, each recorded as soon as it ends.

A game that cannot be decided appears in the records and in the result, but does not count as played, won, drawn or lost. Such
a game takes very long, so the match ends after MOST_UNDECIDED of them. It also ends if games had to be played again
MOST_REPEATS times: otherwise an engine that pretends to be starved whenever it is losing could choose its results.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from typing import Any

from arena.engine.cores import available_cores, one_core
from arena.engine.engine_process import MatchStopped
from arena.match.records import Builds, Records, machine
from arena.match.referee import GameRecord, play_game
from arena.match.setup import GameTask, MatchSetup
from arena.statistics.estimates import GameResult, MatchStatistics, match_statistics, move_times, wilson_95
from arena.statistics.stopping import InOrder, StoppingRule
from common.interrupts import each_in_threads

MOST_UNDECIDED, MOST_REPEATS = 3, 6
# The machine was busy during a game if other programs withheld at least this share of its time and at least these seconds.
BUSY_SHARE, BUSY_S = 0.05, 0.5
OnGame = Callable[[GameRecord], None]
# A runner plays the tasks and yields each game as it ends; if it is closed early, it ends the games in progress.
Runner = Callable[[Iterable[GameTask]], Generator[GameRecord, None, None]]


@dataclass(frozen=True)
class Load:
    """What other programs took from the games of a match.

    Attributes:
        games: number of games.
        busy_games: number of games that were played while the machine was busy.
        withheld_share: in those games, the share of the engines' answer times during which other programs had the core.
    """

    games: int = 0
    busy_games: int = 0
    withheld_share: float = 0.0

    @classmethod
    def of(cls, games: Sequence[GameRecord]) -> Load:
        """Return the load during these games."""
        times = [(sum(game.move_s), sum(game.withheld_s)) for game in games]
        busy = [(move_s, withheld_s) for move_s, withheld_s in times if withheld_s >= max(BUSY_S, BUSY_SHARE * move_s)]
        share = sum(withheld_s for _, withheld_s in busy) / sum(move_s for move_s, _ in busy) if busy else 0.0
        return cls(len(games), len(busy), round(share, 3))

    @property
    def sentence(self) -> str:
        """The load as a sentence; empty if no game was played on a busy machine."""
        if not self.busy_games:
            return ""
        share = f"{100 * self.withheld_share:.0f} %"
        return f"Other programs withheld {share} of the time in {self.busy_games} of {self.games} games."


@dataclass(frozen=True)
class MatchResult:
    """The games of a match.

    Attributes:
        setup: the match.
        games: in the order of their numbers.
        stopped: why the match ended before its last game; empty if it did not.
    """

    setup: MatchSetup
    games: tuple[GameRecord, ...]
    stopped: str = ""

    @property
    def decided(self) -> list[GameRecord]:
        """The games that count."""
        return [game for game in self.games if game.is_decided]

    @property
    def plays(self) -> int:
        """The number of games that count."""
        return len(self.decided)

    def wins(self, agent: int) -> int:
        """Return the number of games that the agent won."""
        return sum(game.winner == agent for game in self.games)

    def score(self, agent: int) -> float:
        """Return (wins - losses) / plays, or 0 if there are no games."""
        return (self.wins(agent) - self.wins(1 - agent)) / self.plays if self.plays else 0.0

    @property
    def distinct_games(self) -> int:
        """The number of games that differ in a move, a fault or the colours; a repeated game adds no information."""
        return self.statistics(0).distinct_games

    def statistics(self, agent: int) -> MatchStatistics:
        """Return what the games say about an agent."""
        return match_statistics([result_for(game, agent, self.setup) for game in self.decided])

    def to_json(self) -> dict[str, Any]:
        """Return plain values, as `evaluate.py --json` writes them."""
        return {
            "plays": self.plays,
            "draws": sum(game.winner is None for game in self.decided),
            "undecided": len(self.games) - self.plays,
            "distinct_games": self.distinct_games,
            "terminations": dict(Counter(game.termination.value for game in self.games)),
            "agents": [self._agent(agent) for agent in (0, 1)],
            "stopped": self.stopped,
            "load": asdict(Load.of(self.games)),
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
                if ply >= game.imposed and (ply % 2 == 0) == (game.black == agent)
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
            "withheld_s": move_times(times("withheld_s")),
            "losses_by": dict(Counter(game.termination.value for game in lost)),
        }


def result_for(game: GameRecord, agent: int, setup: MatchSetup) -> GameResult:
    """Return a game from the point of view of an agent."""
    value = 0.5 if game.winner is None else float(game.winner == agent)
    pair = game.index // 2 if setup.in_pairs else None
    return GameResult(value, pair=pair, identity=(game.black, game.moves, game.refused, game.faulty))


class ThreadRunner:
    """Plays games in parallel on this machine.

    Threads suffice, since the work of a game is done by its engines, which are separate processes. The referee takes less than
    a millisecond a move.

    Args:
        workers: number of games at once; at most one for each core is used, since engines that share a core slow each other
            down.
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
                    return play_game(task, stopping=stopping)
            except MatchStopped:
                return None

        with closing(each_in_threads(play, tasks, self.workers, stopping.set)) as games:
            for game in games:
                record = game.result()
                if record is not None:
                    yield record


def play_match(
    setup: MatchSetup,
    runner: Runner,
    *,
    on_game: OnGame | None = None,
    records: Records | None = None,
    rule: StoppingRule | None = None,
) -> MatchResult:
    """Play a match to its end, or until the rule ends it.

    Args:
        setup: the match.
        runner: plays the games.
        on_game: called with each game, including those read from the records.
        records: the records of this match. Recorded games are not played again, except those that could not be decided; new
            games are appended.
        rule: receives agent 0's results in the order of the games' numbers. When it ends the match, only the games up to
            that number count.

    Raises:
        KeyboardInterrupt: re-raised after the games in progress have been ended; finished games are in the records.
    """
    recorded = records.games.values() if records else ()
    done = {game.index: game for game in recorded if game.index < setup.plays and game.is_decided}
    progress = _Progress(setup, rule)
    for index in sorted(done):
        if on_game is not None:
            on_game(done[index])
        progress.look_at(replace(done[index], repeats=0))  # the machine may be less busy than it was then
    builds = Builds(setup.agents)
    missing = [setup.task(index) for index in range(setup.plays) if index not in done]
    if missing and not progress.reason:
        # Close the runner here rather than leave it to the garbage collector, so that the games in progress end now.
        with closing(runner(missing)) as games:
            for game in games:
                if rebuilt := builds.changed():
                    progress.reason = f"Ended early: {rebuilt} was rebuilt during the match; later games do not count."
                    break
                done[game.index] = game
                if records is not None:
                    records.append(game)
                if on_game is not None:
                    on_game(game)
                progress.look_at(game)
                if progress.reason:
                    break
    return MatchResult(setup, tuple(done[index] for index in sorted(done) if index < progress.counted), progress.reason)


class _Progress:
    """Decides whether a match goes on: it ends when its rule says so, or after too many undecided games.

    Attributes:
        reason: why the match ended early; empty while it goes on.
        counted: the games with numbers below this one count.
    """

    def __init__(self, setup: MatchSetup, rule: StoppingRule | None) -> None:
        self._setup = setup
        self._rule = None if rule is None else InOrder(rule)
        self._undecided = self._repeats = 0
        self._left = setup.plays
        self.reason = ""
        self.counted = setup.plays

    def look_at(self, game: GameRecord) -> None:
        if self.reason:
            return
        self._repeats, self._left = self._repeats + game.repeats, self._left - 1
        if not game.is_decided:  # the rule sees games in order, so it will not see any later ones
            self._undecided += 1
            if self._undecided == MOST_UNDECIDED:
                self.reason = f"Ended early: the machine was so busy that {MOST_UNDECIDED} games could not be decided."
        elif self._rule is not None:
            self.reason = self._rule.add(game.index, result_for(game, 0, self._setup)) or ""
            self.counted = self._rule.counted if self.reason else self._setup.plays
        if not self.reason and self._left and self._repeats >= MOST_REPEATS:
            self.reason = f"Ended early: the machine was so busy that games had to be played again {self._repeats} times."
