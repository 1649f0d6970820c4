"""The tables about engines and the arena: each function makes one from a record (bench/records/).

Rates, Elo and most intervals are computed from the counts. A match on the ladder has its effective number of games, which only
the games tell (arena/statistics/estimates.py); a match in the ablation has its interval in `elo_95`, for the same reason.
"""

from __future__ import annotations

from recording import Record
from table_text import listed, markdown, percent, rate_of, rounded

from arena.statistics.estimates import Z_95, elo, wilson_95
from training.ratings import RatedPair, elo_ratings

# ---------------------------------------------------------------------------------------------------- engines


def ladder_matches(record: Record, only_neighbours: bool = True) -> str:
    """Return the matches of the ladder, between neighbouring rungs or between all."""
    names = [engine["name"] for engine in record["engines"]]
    rows = []
    for match in record["matches"]:
        if only_neighbours and names.index(match["stronger"]) - names.index(match["weaker"]) != 1:
            continue
        rate, effective = rate_of(match), match["effective_games"]
        score, low, high = (rounded(value, 3) for value in (rate, *wilson_95(rate * effective, effective)))
        cells = [match[name] for name in ("stronger", "weaker", "games", "distinct_games")]
        rows.append([*cells, f"{match['won']} : {match['lost']}", f"{score}, {low} to {high}", match["lost_otherwise"]])
    header = ["stronger", "weaker", "games", "distinct", "won : lost", "score rate, 95 %", "lost by a fault"]
    return markdown(header, rows, "llr")


def ladder_steps(record: Record) -> list[tuple[float, float, float]]:
    """Return for each engine its Elo, how far it is above the previous one, and the 95 % error of this difference."""
    names = [engine["name"] for engine in record["engines"]]
    pairs = [
        RatedPair(
            names.index(match["weaker"]),
            names.index(match["stronger"]),
            rate_of(match) * match["effective_games"],
            match["effective_games"],
        )
        for match in record["matches"]
    ]
    ratings, covariance = elo_ratings(len(names), pairs)
    steps = [(0.0, 0.0, 0.0)]
    for i in range(1, len(names)):
        variance = covariance[i, i] + covariance[i - 1, i - 1] - 2 * covariance[i, i - 1]
        steps.append((float(ratings[i]), float(ratings[i] - ratings[i - 1]), float(Z_95 * variance**0.5)))
    return steps


def ladder_ratings(record: Record) -> str:
    """Return ratings and move times of the engines of the ladder."""
    engines = [engine["name"] for engine in record["engines"]]
    unbeaten = {(match["weaker"], match["stronger"]) for match in record["matches"] if not match["lost"]}
    rows = []
    for i, (engine, (rating, above, error)) in enumerate(zip(record["engines"], ladder_steps(record), strict=True)):
        step = f"{rounded(above, 0, '+')} +- {rounded(error)}" if i else "-"
        if i and (engines[i - 1], engines[i]) in unbeaten:
            step = f"at least {step} (no game lost)"
        times = (rounded(engine["move_cpu_s"][name], 2) for name in ("median", "p95", "max"))
        rows.append([engine["name"], rounded(rating), step, *times])
    return markdown(["engine", "Elo", "above the previous rung", "CPU s per move: median", "p95", "max"], rows)


MILESTONES: dict[str, tuple[str | None, str]] = {
    "step_1": (None, "wins at once, stops fives"),
    "step_2": ("step_1", "greedy: the best evaluation after its move"),
    "step_3": ("step_2", "alpha-beta to depth 2"),
    "step_4": ("step_3", "alpha-beta to depth 4"),
    "step_5": ("step_4", "victory by continuous fours, at the root and at the leaves"),
    "step_6": ("step_4", "iterative deepening to depth 6, transposition table, killer moves"),
    "step_7": ("step_6", "1 s of CPU time per move in place of depth 6"),
    "step_8": ("step_7", "victory by continuous fours, and no evaluation while there is a four"),
}
"""The steps of instructor/teacher/milestones.cpp -> the step to which each adds something, and what it adds."""


def milestones(record: Record) -> str:
    """Return how each milestone of Part 1 scores against the one before and against the baseline."""
    cells: dict[str, dict[str, str]] = {step: {"before": "-", "baseline": "-"} for step in MILESTONES}
    for row in record["rows"]:
        rate, effective = rate_of(row), row["effective_games"]
        low, high = wilson_95(rate * effective, effective)
        where = "baseline" if row["opponent"] == "baseline" else "before"
        score = ", ".join((rounded(rate, 2), f"{rounded(low, 2)} to {rounded(high, 2)}"))
        cells[row["step"]][where] = f"{row['won']} : {row['lost']} ({score})"
    rows = []
    for step, (earlier, what) in MILESTONES.items():
        adds = f"{what} (to `{earlier}`)" if earlier else what
        rows.append([f"`{step}`", adds, cells[step]["before"], cells[step]["baseline"]])
    return markdown(["engine", "what it adds", "against that step, 95 %", "against the baseline, 95 %"], rows, "ll")


def ablation(record: Record) -> str:
    """Return what each idea of the reference engine is worth, the most valuable one first."""
    rows = []
    for row in sorted(record["rows"], key=rate_of, reverse=True):
        ideas = listed(f"`{idea}`" for idea in row["without"].split(","))
        rate = rate_of(row)
        worth = rounded(elo(rate), 0, "+") if 0 < rate < 1 else f"{'won' if rate else 'lost'} all games"
        low, high = ("unbounded" if end is None else rounded(end, 0, "+") for end in row["elo_95"])
        rows.append([ideas, f"{row['won']} : {row['lost']}", worth, f"{low} to {high}"])
    return markdown(["Idea", "won with it : without it", "worth, Elo", "95 %"], rows)


def ablation_nodes(record: Record) -> str:
    """Return how many nodes the engine searches without one of its ideas."""
    rows = [[f"`{row['without']}`", rounded(row["million_nodes"], 1)] for row in record["rows"]]
    return markdown(["Without", "Million nodes"], rows)


# ------------------------------------------------------------------------------------------------------ arena


def _wrong(count: int, matches: int) -> str:
    """Return a share in per cent with its 95 % interval."""
    low, high = wilson_95(count, matches)
    return f"{rounded(100 * count / matches, 1)} ({rounded(100 * low, 1)}-{rounded(100 * high, 1)})"


def stopping(record: Record) -> str:
    """Return how many games the stopping rules need and how often they err."""
    rows = []
    for row in record["rows"]:
        played, decided, rate, sprt = (row[name] for name in ("matches", "decided", "about_the_rate", "sprt"))
        rows.append(
            [
                rounded(row["rate"], 2),
                rounded(decided["mean_games"], 1),
                _wrong(decided["wrong"], played),
                percent(decided["ended_early"] / played),
                rounded(rate["mean_games"], 1),
                rounded(sprt["mean_games"], 1),
                "-" if sprt["wrong"] is None else _wrong(sprt["wrong"], played),
                rounded(100 * sprt["undecided"] / played, 1),
            ]
        )
    header = ["True rate", "`decided`: games", "wrong points", "ended early", "about the rate: games", "SPRT: games"]
    return markdown([*header, "wrong verdict", f"undecided after {record['most_games']}"], rows, "r")


def coverage(record: Record) -> str:
    """Return how often intervals contain the true rate, in per cent."""
    strengths = {0: "none", 0.5: "medium (.5)", 0.9: "strong (.9)", -0.9: "opposite (-.9)"}
    rows = []
    for row in record["rows"]:
        label = f"{row['openings']}, {strengths[row['dependence']]}" if row["paired"] else ""
        label = label or f"{row['openings']} for each colour by itself, unpaired"
        label += f", {rounded(100 * row['draws'])} % draws" if row["draws"] else ""
        rows.append([label, *(f"{one['naive']} / {one['clustered']}" for one in row["covered_percent"])])
    return markdown(
        ["Openings, dependence of the two colours", *(rounded(rate, 1).removeprefix("0") for rate in record["rates"])], rows
    )
