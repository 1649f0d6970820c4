"""Many games between two agents: colours alternate, several at once, each recorded the moment it ends.

A match that was killed goes on where it stopped: games that stand in the records file are not played again.
"""

from __future__ import annotations

import json
import os
import platform
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from Minimax.arena.engine import EngineSpec, Limits
from Minimax.arena.referee import GameRecord, play_game
from Minimax.arena.statistics import move_times, wilson_95
from Minimax.arena.usage import UsageError

OnGame = Callable[[GameRecord], None]


def available_cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


@dataclass(frozen=True)
class MatchResult:
    """The games of a match, in order, and what they were played under."""

    agents: tuple[EngineSpec, EngineSpec]
    games: tuple[GameRecord, ...]
    limits: Limits
    seed: int

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
        return len({(game.black, game.moves) for game in self.games})

    def to_json(self) -> dict[str, Any]:
        """Plain values, as `evaluate.py --json` writes them."""
        return {
            "plays": self.plays,
            "draws": sum(game.winner is None for game in self.games),
            "distinct_games": self.distinct_games,
            "terminations": dict(Counter(game.termination.value for game in self.games)),
            "agents": [self._agent(agent) for agent in (0, 1)],
            "seed": self.seed,
            "limits": {"move_s": self.limits.move_s, "init_s": self.limits.init_s, "told_move_s": self.limits.told_move_s},
            "machine": {"system": platform.platform(), "processor": _processor(), "cores": available_cores()},
            "games": [game.to_json() for game in self.games],
        }

    def _agent(self, agent: int) -> dict[str, Any]:
        names = [game.names[agent] for game in self.games if game.names[agent]]
        times = [
            seconds for game in self.games for ply, seconds in enumerate(game.move_s) if (ply % 2 == 0) == (game.black == agent)
        ]
        lost = [game for game in self.games if game.winner == 1 - agent]
        return {
            "path": self.agents[agent].path,
            "name": names[0] if names else "",
            "wins": self.wins(agent),
            "losses": len(lost),
            "score": self.score(agent),
            "wilson_95": list(wilson_95(self.wins(agent), self.plays)),
            "move_s": move_times(times),
            "losses_by": dict(Counter(game.termination.value for game in lost)),
        }


def play_match(
    agents: tuple[EngineSpec, EngineSpec],
    num_plays: int,
    *,
    num_workers: int,
    limits: Limits,
    seed: int,
    on_game: OnGame | None = None,
    records_path: Path | None = None,
) -> MatchResult:
    """Play `num_plays` games; agent 0 is black in games 0, 2, 4, ...

    Args:
        num_workers: games at once; lowered to the cores there are, since engines that share a core lose time.
        seed: of the match; each game's seed is drawn from it by the game's number.
        on_game: is called with each finished game, also with those read from the records.
        records_path: a file of JSON lines that every finished game is appended to, and that is continued.

    Raises:
        UsageError: the records belong to another match, or are none.
        KeyboardInterrupt: after the games in progress were ended; finished ones are in the records.
    """
    done = _read_records(records_path, agents, limits, seed) if records_path is not None else {}
    done = {index: game for index, game in done.items() if index < num_plays}
    for index in sorted(done):
        if on_game is not None:
            on_game(done[index])
    seeds = random.Random(seed)
    game_seeds = [seeds.randrange(2**30) for _ in range(num_plays)]
    stopping = threading.Event()

    def play(index: int) -> GameRecord | None:
        if stopping.is_set():
            return None
        black = index % 2
        return play_game(
            agents[black],
            agents[1 - black],
            limits,
            seed=game_seeds[index],
            index=index,
            black_agent=black,
            stopping=stopping,
        )

    workers = max(1, min(num_workers, available_cores()))
    with ThreadPoolExecutor(workers) as pool:
        waiting: set[Future[GameRecord | None]] = {pool.submit(play, i) for i in range(num_plays) if i not in done}
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    game = future.result()
                    if game is None:
                        continue
                    done[game.index] = game
                    if records_path is not None:
                        _append(records_path, game.to_json())
                    if on_game is not None:
                        on_game(game)
        except BaseException:
            stopping.set()
            for future in waiting:
                future.cancel()
            raise
    return MatchResult(agents, tuple(done[index] for index in sorted(done)), limits, seed)


def _identity(agents: Sequence[EngineSpec], limits: Limits, seed: int) -> dict[str, Any]:
    return {
        "match": [agent.path for agent in agents],
        "limits": [limits.move_s, limits.init_s, limits.told_move_s],
        "seed": seed,
    }


def _append(path: Path, data: dict[str, Any]) -> None:
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(data) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _read_records(path: Path, agents: Sequence[EngineSpec], limits: Limits, seed: int) -> dict[int, GameRecord]:
    """Games by index; writes the heading of a new file. A last line that a kill cut off is dropped."""
    identity = _identity(agents, limits, seed)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        text = ""
    lines = text.splitlines()
    if not lines:
        _append(path, identity)
        return {}
    try:
        heading = json.loads(lines[0])
    except ValueError:
        heading = None
    if heading != identity:
        raise UsageError(f"expected records of this match in {path}; they belong to another one: use a new file")
    if not text.endswith("\n"):
        # Cut the torn line off, or the next record would be glued to it.
        whole = "".join(line + "\n" for line in lines[:-1])
        path.write_text(whole, encoding="utf-8")
        lines = lines[:-1]
    games: dict[int, GameRecord] = {}
    for line in lines[1:]:
        try:
            game = GameRecord.from_json(json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            raise UsageError(f"expected one game a line in {path}; a line is none: {line[:60]!r}") from error
        games[game.index] = game
    return games


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor()
