"""A match between two engines: `python Minimax/evaluate.py --agents-path A B --num-plays 64 --num-workers 8`.

A and B alternate colours. At the end: wins and score = (wins - losses) / plays of each, with what the number is worth.
Exit codes: 0 the match was played, 2 the call was wrong, 130 interrupted (with the summary of the finished games).
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
import tempfile
from pathlib import Path

from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from Minimax.arena.engine import Limits
from Minimax.arena.match import MatchResult, available_cores, play_match
from Minimax.arena.referee import GameRecord
from Minimax.arena.usage import UsageError, engine_at


def summary(result: MatchResult) -> str:
    """The end of a match, in lines for a person."""
    data = result.to_json()
    lines = [f"Number of plays: {data['plays']}  (draws {data['draws']}, distinct games {data['distinct_games']})"]
    for number, agent in enumerate(data["agents"]):
        low, high = agent["wilson_95"]
        times = agent["move_s"]
        lines += [
            f"Agent {number}: {agent['path']}" + (f"  ({agent['name']})" if agent["name"] else ""),
            f"  wins: {agent['wins']}   score: {agent['score']:.4f}   win rate 95 % interval: {low:.3f} to {high:.3f}",
        ]
        if times["max"] is not None:
            lines.append(f"  move time: median {times['median']:.2f} s, p95 {times['p95']:.2f} s, max {times['max']:.2f} s")
        if agent["losses_by"]:
            lines.append("  lost by: " + ", ".join(f"{count} {reason}" for reason, count in sorted(agent["losses_by"].items())))
    ends = ", ".join(f"{count} {reason}" for reason, count in sorted(data["terminations"].items()))
    lines.append(f"Terminations: {ends or 'none'}")
    if data["distinct_games"] < data["plays"]:
        lines.append("Games that repeat are one game: the intervals above are too narrow by that.")
    return "\n".join(lines)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """The command line, checked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--agents-path", nargs=2, required=True, metavar=("A", "B"), help="two engines")
    parser.add_argument("--num-plays", type=int, default=64, help="games (default 64)")
    parser.add_argument("--num-workers", type=int, default=available_cores(), help="games at once (default: cores)")
    parser.add_argument("--time-limit", type=float, default=5.0, help="seconds a move (default 5)")
    parser.add_argument("--init-limit", type=float, default=10.0, help="seconds from start to name (default 10)")
    parser.add_argument("--seed", type=int, help="seed of the match (default: drawn and printed)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result with all games")
    parser.add_argument("--records", type=Path, metavar="FILE", help="append each game at once; continue a killed match")
    options = parser.parse_args(arguments)
    for name in ("num_plays", "num_workers"):
        if getattr(options, name) < 1:
            parser.error(f"expected --{name.replace('_', '-')} of at least 1; got {getattr(options, name)}")
    for name in ("time_limit", "init_limit"):
        if not 0 < getattr(options, name) < 3600:
            parser.error(f"expected --{name.replace('_', '-')} in seconds above 0; got {getattr(options, name):g}")
    if options.records is not None and options.seed is None:
        parser.error("expected --seed with --records, since a match is continued by its seed")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Play the match and print its summary."""
    options = parse(arguments)
    games: list[GameRecord] = []
    interrupted = False
    try:
        first, second = (engine_at(path) for path in options.agents_path)
        if options.json is not None and not options.json.resolve().parent.is_dir():
            raise UsageError(f"expected a folder for --json at {options.json.resolve().parent}; nothing is there")
        workers = min(options.num_workers, available_cores())
        if workers < options.num_workers:
            print(f"{options.num_workers} games at once were asked for; {workers} are played, one a core.")
        seed = secrets.randbelow(2**31) if options.seed is None else options.seed
        limits = Limits(move_s=options.time_limit, init_s=options.init_limit)
        print(f"Seed {seed}, {options.num_plays} games, {limits.move_s:g} s a move, {workers} at once")
        with tqdm(total=options.num_plays, unit="game", disable=None) as bar:

            def on_game(game: GameRecord) -> None:
                games.append(game)
                won = [sum(g.winner == agent for g in games) for agent in (0, 1)]
                bar.set_postfix_str(f"{won[0]} : {won[1]}", refresh=False)
                bar.update()

            try:
                result = play_match(
                    (first, second),
                    options.num_plays,
                    num_workers=workers,
                    limits=limits,
                    seed=seed,
                    on_game=on_game,
                    records_path=options.records,
                )
            except KeyboardInterrupt:
                interrupted = True
                result = MatchResult((first, second), tuple(sorted(games, key=lambda g: g.index)), limits, seed)
    except UsageError as error:
        print(f"evaluate.py: {error}", file=sys.stderr)
        return 2
    if interrupted:
        print(f"Interrupted after {result.plays} of {options.num_plays} games.", file=sys.stderr)
    print(summary(result))
    if options.json is not None:
        _write(options.json, json.dumps(result.to_json(), indent=1))
    return 130 if interrupted else 0


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=path.resolve().parent, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


if __name__ == "__main__":
    sys.exit(main())
