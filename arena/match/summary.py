"""The summary of a match as text for a person to read."""

from __future__ import annotations

import json
from math import isfinite
from pathlib import Path

from arena.match.match import Load, MatchResult
from arena.match.referee import GameRecord
from arena.match.sgf import write_sgf
from arena.statistics.estimates import EloDifference
from common.errors import UsageError
from common.files import write_whole
from common.harmless_text import on_screen


def write_result(result: MatchResult, json_file: Path | None, sgf_folder: Path | None) -> str:
    """Write the result and the games of a match where that was asked for; return a line about SGF files, or an empty string.

    Raises:
        UsageError: they cannot be written there.
    """
    place, files = json_file, 0
    try:
        if json_file is not None:
            write_whole(json_file, json.dumps(result.to_json(), indent=1))
        place = sgf_folder
        if sgf_folder is not None:
            files = write_sgf(result, sgf_folder)
    except OSError as error:
        raise UsageError(f"the games cannot be written to {place}: {error.strerror}") from error
    return "" if sgf_folder is None else f"{files} games written to {sgf_folder}\n"


def summary(result: MatchResult) -> str:
    """Summarise a match as text for a person to read."""
    data = result.to_json()
    lines = [f"Number of plays: {data['plays']}  (draws {data['draws']}, distinct games {data['distinct_games']})"]
    for number, agent in enumerate(data["agents"]):
        lines.append(f"Agent {number}: {agent['path']}" + (f"  ({agent['name']})" if agent["name"] else ""))
        low, high = agent["wilson_95"]
        wins = f"  wins: {agent['wins']}   score: {agent['score']:.4f}   win rate 95 % interval: {low:.3f} to {high:.3f}"
        lines.append(wins)
        for clock, words in (("move_cpu_s", "CPU time"), ("move_s", "wall-clock time")):
            times = agent[clock]
            if times["max"]:
                values = ", ".join(f"{name} {times[name]:.2f} s" for name in ("median", "p95", "max"))
                lines.append(f"  {words} per move: {values}")
        if agent["losses_by"]:
            lines.append("  lost by: " + ", ".join(f"{count} {reason}" for reason, count in sorted(agent["losses_by"].items())))
    ends = ", ".join(f"{count} {reason}" for reason, count in sorted(data["terminations"].items()))
    lines.append(f"Terminations: {ends or 'none'}")
    lines += faults(result)
    return "\n".join(lines + worth(result))


def faults(result: MatchResult, names: tuple[str, str] = ("agent 0", "agent 1")) -> list[str]:
    """Say how many games each agent lost by each kind of fault, and what happened in the first of them.

    Args:
        names: what to call the two agents.
    """
    found: dict[tuple[int, str], list[GameRecord]] = {}
    for game in result.games:
        if game.faulty is not None:
            found.setdefault((game.faulty, game.termination.value), []).append(game)
    return [
        on_screen(
            f"  {len(games)} {reason}, for example game {games[0].index}, ply {len(games[0].moves) + 1}: "
            f"{names[agent]} {games[0].detail}."
        )
        for (agent, reason), games in found.items()
    ]


def worth(result: MatchResult) -> list[str]:
    """Say how reliable the numbers are: Elo, repeated games, pairs, why the match stopped, how busy the machine was."""
    lines, statistics = [], result.statistics(0)
    if statistics.elo is not None:
        lines.append(f"{elo_in_words(statistics.elo)}; likelihood of superiority {statistics.los:.3f}")
        if statistics.clusters < statistics.games:
            low, high = statistics.interval_95
            lines.append(
                f"Games that repeat or share an opening count as {statistics.effective_games:.0f} independent ones: "
                f"score rate of agent 0 {statistics.score_rate:.3f}, 95 % interval {low:.3f} to {high:.3f}"
            )
    if statistics.pairs is not None:
        lines.append(f"Pairs in which agent 0 scored 0, 1/2, 1, 3/2, 2 points: {', '.join(map(str, statistics.pairs))}")
    if result.stopped:
        lines.append(result.stopped)
    if undecided := len(result.games) - result.plays:
        games = "1 game" if undecided == 1 else f"{undecided} games"
        lines.append(
            f"{games} could not be decided: the machine was too busy to tell whether an engine was slow or had too little CPU "
            "time; such a game counts neither as a win nor as a loss."
        )
    if load := Load.of(result.games).sentence:
        lines.append(load)
    return lines


def elo_in_words(elo: EloDifference) -> str:
    """Describe an Elo difference, which is infinite if a match has no win or no loss."""
    low, high = isfinite(elo.low), isfinite(elo.high)
    if low and high:
        interval = f"95 % interval {elo.low:+.0f} to {elo.high:+.0f}"
    elif low or high:
        interval = f"95 % interval above {elo.low:+.0f}" if low else f"95 % interval below {elo.high:+.0f}"
    else:
        interval = "no 95 % interval"
    difference = f"{elo.difference:+.0f}" if isfinite(elo.difference) else "no finite estimate"
    return f"Elo difference of agent 0 over agent 1: {difference}, {interval}"
