"""Measure how many games the stopping rules need, and how often they err: `python bench/stopping.py`.

Each row is for one true score rate. It shows the mean number of games, and the share of wrong decisions in per cent with its
95 % interval (Wilson). All rules receive the same results, drawn with one seed. The rules are:

- `--stop decided`. A decision is wrong if the points differ from those that all planned games give. The next column is the
  share of matches that ended early.
- About the rate: stop when an interval for the true rate, valid at any time, settles the points. A decision is wrong if the
  match ended early with other points than the true rate gives.
- `--sprt ELO0,ELO1,ALPHA,BETA`, until a decision or `--most` games. It is wrong to accept H1 at a rate not above that of ELO0,
  or H0 at a rate not below that of ELO1; between the two, neither is wrong. The next column is the share without a decision.

`--record` writes the results to bench/records/stopping.json, from which bench/tables.py makes the table of docs/arena.md. The
last lines show the largest error of the match rule's interval in small matches, counted exactly over all possible matches.
"""

from __future__ import annotations

import argparse
import itertools
import math
import platform
import sys
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_tables import stopping
from recording import Record, add_record_option, write_record

from arena.match.records import machine
from arena.statistics.estimates import GameResult, expected_score
from arena.statistics.stopping import Decided, MatchSequence, Sprt, StoppingRule
from common.errors import UsageError
from common.program_ends import Parser
from common.scoring import Formula, formula_named


def drawn(rng: Random, rate: float, draws: float) -> GameResult:
    """Draw the result of one game with mean `rate` and, as far as the rate allows, a share `draws` of drawn games."""
    half = min(draws / 2, rate, 1 - rate)
    u = rng.random()
    return GameResult(1.0 if u < rate - half else 0.5 if u < rate + half else 0.0)


def needed(rule: StoppingRule, games: Sequence[GameResult]) -> int:
    """Return the number of games after which the rule ends the match; all games if it does not."""
    for number, game in enumerate(games, 1):
        if rule.add(game) is not None:
            return number
    return len(games)


def row_of(rate: float, options: argparse.Namespace, formula: Formula, sprt: Sprt) -> Record:
    """Simulate one true rate and return its row of the record."""
    rng = Random(f"{options.seed} {rate} {options.draws}")
    early = wrong_match = wrong_rate = no_verdict = wrong_sprt = 0
    used = [0, 0, 0]
    for _ in range(options.runs):
        games = [drawn(rng, rate, options.draws) for _ in range(max(options.plays, options.most))]
        planned = games[: options.plays]
        wins, losses = (sum(game.value == value for game in planned) for value in (1, 0))
        rule = Decided(formula, options.points, options.plays, alpha=options.alpha)
        number = needed(rule, planned)
        used[0] += number
        early += number < options.plays
        wrong_match += rule.points != formula.points(wins, losses, options.plays, options.points)
        rule = Decided(formula, options.points, options.plays, alpha=options.alpha, about="rate")
        number = needed(rule, planned)
        used[1] += number
        truth = formula.points_at(Fraction(str(rate)), options.points)
        wrong_rate += number < options.plays and rule.points != truth
        test = Sprt(sprt.elo0, sprt.elo1, sprt.alpha, sprt.beta)
        used[2] += needed(test, games[: options.most])
        no_verdict += test.verdict == "undecided"
        wrong_sprt += test.verdict == "accept_h1" and rate <= expected_score(sprt.elo0) + 1e-12
        wrong_sprt += test.verdict == "accept_h0" and rate >= expected_score(sprt.elo1) - 1e-12
    between = expected_score(sprt.elo0) < rate < expected_score(sprt.elo1)
    means = [total / options.runs for total in used]
    return {
        "rate": rate,
        "matches": options.runs,
        "decided": {"mean_games": means[0], "wrong": wrong_match, "ended_early": early},
        "about_the_rate": {"mean_games": means[1], "wrong": wrong_rate},
        "sprt": {"mean_games": means[2], "wrong": None if between else wrong_sprt, "undecided": no_verdict},
    }


def largest_error(planned: int, linked: bool, alpha: float) -> float:
    """Return the largest probability, over the rates of the two colours, that the match interval ever misses the final mean."""
    missing = []
    for outcome in itertools.product((0, 1), repeat=planned):
        sequence, final = MatchSequence(planned, linked=linked, alpha=alpha), Fraction(sum(outcome), planned)
        for value in outcome:
            sequence.add(value)
            low, high = sequence.interval()
            if not low <= final <= high:
                missing.append((sum(outcome[::2]), sum(outcome[1::2])))
                break
    sizes = (planned + 1) // 2, planned // 2
    steps = [i / 40 for i in range(41)]
    return max(
        sum(math.prod(r**w * (1 - r) ** (n - w) for r, w, n in zip(rates, wins, sizes, strict=True)) for wins in missing)
        for rates in itertools.product(steps, repeat=2)
    )


def main() -> int:
    """Parse the command line, simulate every rate and print the tables."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1.0])
    parser.add_argument("--draws", type=float, default=0.0, help="share of draws (default 0)")
    parser.add_argument("--runs", type=int, default=1000, help="matches for each rate (default 1000)")
    parser.add_argument("--plays", type=int, default=64, help="planned games (default 64)")
    parser.add_argument("--points", type=float, default=30, help="full points (default 30)")
    parser.add_argument("--formula", default="shifted_score")
    parser.add_argument("--alpha", type=float, default=0.05)
    parser.add_argument("--sprt", default="0,70,0.05,0.05", metavar="ELO0,ELO1,ALPHA,BETA")
    parser.add_argument(
        "--most", type=int, default=400, help="games after which the SPRT stops without a decision (default 400)"
    )
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser, "stopping")
    options = parser.parse_args()
    if min(options.runs, options.plays, options.most) < 1:
        parser.error("expected --runs, --plays and --most of at least 1")
    try:
        formula, sprt = formula_named(options.formula), Sprt.parse(options.sprt)
    except UsageError as error:
        print(f"stopping.py: {error}", file=sys.stderr)
        return 2
    started = time.process_time()
    print(f"Python {platform.python_version()}, seed {options.seed}, {options.runs} matches a rate, {options.draws:g} draws")
    print(
        f"{options.formula} of {options.points:g} points, {options.plays} games, alpha {options.alpha:g}; sprt {options.sprt}, "
        f"at most {options.most} games. Shares in per cent with 95 % intervals."
    )
    words = [f"--{name} {value}" for name, value in vars(options).items() if name not in ("rates", "record")]
    command = f"python bench/stopping.py --rates {' '.join(map(str, options.rates))} {' '.join(words)}"
    record: Record = {"command": command, "machine": machine(), "most_games": options.most, "rows": []}
    print(stopping(record), end="")
    for rate in options.rates:
        record["rows"].append(row_of(rate, options, formula, sprt))
        print(stopping(record).splitlines()[-1], flush=True)
    wrong = sum(row["about_the_rate"]["wrong"] for row in record["rows"])
    print(f"The rule about the rate gave wrong points in {wrong} of {len(options.rates) * options.runs} matches.")
    if options.record:
        write_record(options.record, record)
    print("Largest probability that the match interval ever misses the final mean (exact, all matches):")
    for planned, linked in ((8, False), (12, False), (12, True)):
        kind = "paired" if linked else "single"
        found = [f"{100 * largest_error(planned, linked, alpha):.1f} at {100 * alpha:g}" for alpha in (0.05, 0.1, 0.25)]
        print(f"  {planned} {kind} games, per cent: {', '.join(found)}")
    print(f"{time.process_time() - started:.0f} s of CPU time")
    return 0


if __name__ == "__main__":
    sys.exit(main())
