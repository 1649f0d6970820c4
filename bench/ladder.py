"""Measure how strong the engines are: `python bench/ladder.py FOLDER` plays a round robin and prints Elo ratings with errors.

List the engines from the weakest to the strongest, in the intended order of the ladder. Neighbours play more games than other
pairs, since the ladder promises a difference between them. Each pair plays a match of the arena, recorded in FOLDER. The same
command continues a run that was killed, or adds games if it asks for more; recorded games beyond that number count as well.
`--record` writes the results to bench/records/ladder.json, from which bench/tables.py makes the tables of docs/engines.md.

The ratings come from training/ratings.py and use all pairs at once, with 95 % errors; the first engine is at 0.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_tables import ladder_matches, ladder_ratings, ladder_steps
from recording import Record, add_record_option, write_record
from tqdm import tqdm

from arena.engine.engine_process import Limits
from arena.engine.specs import engine_at
from arena.match.match import MatchResult, ThreadRunner, play_match
from arena.match.records import Records, machine, read_records
from arena.match.setup import MatchSetup
from arena.rules import Termination
from arena.statistics.estimates import move_times
from common.errors import UsageError
from common.program_ends import Parser

ENGINES = Path("build/engines")
REGULAR = (Termination.FIVE, Termination.DRAW, Termination.NO_MOVE, Termination.RESIGNED)
LADDER = ("sample", "mcts_50000", "mcts_100000", "mcts_400000", "baseline", "reference")


def pairs_in_order(count: int) -> Iterator[tuple[int, int]]:
    """Yield all pairs, neighbours first and stronger pairs first, since these matches take longest."""
    yield from sorted(combinations(range(count), 2), key=lambda pair: (pair[1] - pair[0], -pair[0]))


def play_pair(names: tuple[str, str], games: int, options: argparse.Namespace) -> MatchResult:
    """Play the match of a pair (weaker, stronger), in which the stronger engine is agent 0; recorded games are not replayed."""
    weaker, stronger = names
    agents = (engine_at(str(options.engines_path / stronger)), engine_at(str(options.engines_path / weaker)))
    path = options.folder / f"{stronger}-{weaker}.jsonl"
    if path.exists():
        games = max(games, len(read_records(path)[1]))
    setup = MatchSetup(agents=agents, plays=games, seed=options.seed, limits=Limits(move_s=options.time_limit))
    records = Records(path, setup)
    return play_with_bar(setup, f"{stronger} - {weaker}", options.num_workers, records)


def play_with_bar(setup: MatchSetup, title: str, workers: int, records: Records) -> MatchResult:
    """Play or continue a match with a progress bar."""
    with tqdm(total=setup.plays, unit="game", disable=None, desc=title) as bar:
        return play_match(setup, ThreadRunner(workers), on_game=lambda game: bar.update() and None, records=records)


def record_of(names: Sequence[str], results: dict[tuple[int, int], MatchResult], command: str) -> Record:
    """Return what bench/records/ladder.json holds: the counts of each match, the move times of each engine.

    Args:
        names: the engines, weakest first.
        results: the match of each pair (weaker, stronger).
        command: the command that plays these matches.
    """
    matches = []
    for (weak, strong), result in sorted(results.items(), key=lambda item: (item[0][1], -item[0][0])):
        seen = result.statistics(0)
        matches.append(
            {
                "stronger": names[strong],
                "weaker": names[weak],
                "games": seen.games,
                "distinct_games": seen.distinct_games,
                "effective_games": seen.effective_games,
                "won": seen.wins,
                "drawn": seen.draws,
                "lost": seen.losses,
                "lost_otherwise": sum(game.termination not in REGULAR for game in result.decided),
            }
        )
    engines = [{"name": name, "move_cpu_s": move_times(list(cpu_times(i, results)))} for i, name in enumerate(names)]
    return {"command": command, "machine": machine(), "engines": engines, "matches": matches}


def report(record: Record) -> str:
    """Return all matches, ratings and move times as on the screen."""
    monotone = all(above > 0 for _, above, _ in ladder_steps(record)[1:])
    tables = (ladder_matches(record, only_neighbours=False), ladder_ratings(record))
    return "\n".join((*tables, "The order is monotone." if monotone else "The order is NOT monotone."))


def cpu_times(number: int, results: dict[tuple[int, int], MatchResult]) -> Iterator[float]:
    """Yield the CPU seconds of all moves of one engine."""
    for pair, result in results.items():
        if number not in pair:
            continue
        agent = 0 if pair[1] == number else 1
        for game in result.games:
            yield from game.move_cpu_s[0 if game.black == agent else 1 :: 2]


def main() -> int:
    """Play the missing games and print the tables."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="folder for the games")
    parser.add_argument("--engines", nargs="+", default=LADDER, metavar="NAME", help="weakest first")
    parser.add_argument("--engines-path", type=Path, default=ENGINES)
    parser.add_argument("--games", type=int, default=100, help="number of games between neighbours (default 100)")
    parser.add_argument("--others", type=int, default=20, help="number of games between other pairs (default 20)")
    parser.add_argument("--time-limit", type=float, default=5.0, help="CPU seconds per move (default 5)")
    parser.add_argument("--num-workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser, "ladder")
    options = parser.parse_args()
    if len(options.engines) < 2 or min(options.games, options.num_workers) < 1 or options.others < 0:
        parser.error("expected at least two --engines, at least 1 for --games and --num-workers, and no negative --others")
    terms = f"{options.time_limit:g} s of CPU time per move"
    counts = f"--games {options.games} --others {options.others} --time-limit {options.time_limit:g} --seed {options.seed}"

    def play(weaker: str, stronger: str, neighbours: bool) -> MatchResult | None:
        games = options.games if neighbours else options.others
        return play_pair((weaker, stronger), games, options) if games else None

    return run_ladder(list(options.engines), play, options, terms, f"python bench/ladder.py FOLDER {counts}")


def run_ladder(
    names: list[str],
    play: Callable[[str, str, bool], MatchResult | None],
    options: argparse.Namespace,
    terms: str,
    command: str,
) -> int:
    """Play the missing games of a ladder, then print and record the ratings; return the exit code.

    Args:
        names: the weakest first.
        play: plays the match of (weaker, stronger, whether they are neighbours); None leaves it out.
        options: with folder, seed and record.
        terms: on what terms the games were played, in words.
        command: how to repeat them.
    """
    program = Path(sys.argv[0]).name
    options.folder.mkdir(parents=True, exist_ok=True)
    results = {}
    try:
        for weak, strong in pairs_in_order(len(names)):
            if (result := play(names[weak], names[strong], strong == weak + 1)) is not None:
                results[weak, strong] = result
    except UsageError as error:
        print(f"{program}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"Interrupted; the same command continues the games in {options.folder}.", file=sys.stderr)
        return 130
    print(f"{terms}, seed {options.seed}, {machine()['processor']}\n")
    record = record_of(names, results, command)
    print(report(record))
    if options.record:
        write_record(options.record, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
