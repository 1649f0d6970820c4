"""The tables about networks: each function makes one from records (bench/records/) or manifests (model/*.json)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, variance

from recording import Record
from table_text import listed, markdown, percent, rate_of, rounded, without_zero

from arena.statistics.estimates import Z_95, t_quantile_975

# --------------------------------------------------------------------------------------------- tic-tac-toe


def setting_of(row: Record) -> str:
    """Return what a training on 3x3 changed, as on the command line; empty if it changed nothing."""
    changes = [f"--set {name}={value}" for name, value in row.get("set", {}).items()]
    return " ".join(changes + [f"--without {name}" for name in row.get("without", [])])


def trainings(record: Record, submission: str = "reference", setting: str = "") -> dict[int, Record]:
    """Return the trainings of a submission with one setting, by seed."""
    rows = (row for row in record["rows"] if row["submission"] == submission and setting_of(row) == setting)
    return {row["seed"]: row for row in rows}


def total_cpu_s(row: Record) -> float:
    """Return the CPU seconds of a training."""
    return row["cpu_s"] if "cpu_s" in row else row["training_cpu_s"] + row["exact_cpu_s"]


def train_3x3(record: Record) -> str:
    """Return the games and the time until a network is verified, by seed."""
    reference = trainings(record)

    def row(label: str, what: str, found: dict[int, Record], value: Callable[[Record], object]) -> list[object]:
        return [label, what, *(value(found[seed]) if seed in found else "" for seed in reference)]

    rows = [
        row("the reference", "games", reference, lambda one: one["games"] or "none"),
        row("", "CPU s: training", reference, lambda one: rounded(one["training_cpu_s"])),
        row("", "exact search", reference, lambda one: rounded(one["exact_cpu_s"])),
        row("", "total", reference, lambda one: rounded(total_cpu_s(one))),
    ]
    for submission in dict.fromkeys(row["submission"] for row in record["rows"]):
        if submission != "reference":
            found = trainings(record, submission)
            rows.append(row(f"`{submission}`", "games", found, lambda one: one["games"] or "none"))
            rows.append(row("", "CPU s in total", found, lambda one: rounded(total_cpu_s(one))))
    first, *others = map(str, reference)
    return markdown(["", "", f"seed {first}", *others], rows, "llr")


def train_3x3_settings(record: Record) -> str:
    """Return the games until a network is verified with one setting changed, for the first three seeds."""
    seeds = (1, 2, 3)
    rows: list[list[object]] = []
    for setting in dict.fromkeys(setting_of(row) for row in record["rows"]):
        found = trainings(record, setting=setting)
        chosen = [found[seed] for seed in seeds if seed in found]
        failed = [row for row in chosen if row["games"] is None]
        none = f"none in {failed[0]['limit']}" if len(failed) == 1 else "none"
        games = [found[seed]["games"] or none if seed in found else "" for seed in seeds]
        rows.append([f"`{setting}`" if setting else "no change", *games, _remark(setting, chosen, failed, trainings(record))])
    return markdown(["", "seed 1", "2", "3", ""], rows, "lrrrl")


def _remark(setting: str, rows: Sequence[Record], failed: Sequence[Record], unchanged: dict[int, Record]) -> str:
    """Return the last cell of a row of `train_3x3_settings`."""
    if failed:
        best = f"{listed(row['fewest_losing_lines'] for row in failed)} lines at best"
        if len(failed) > 1:
            return best
        last = failed[0]["last_five_looks"]
        return f"{best}, {last['fewest']} to {last['most']} in the last five tests"
    if setting == "--set updates_per_game=1":
        return f"{listed(rounded(total_cpu_s(row)) for row in rows)} CPU s: the exact search sees more games"
    if setting == "--set n_playout=50":
        return f"{rounded(_time_per_game(rows, unchanged), 1)} times the CPU time per game"
    return {"--without symmetry": "in self-play", "--set averaging=0.0": "measures the latest weights"}.get(setting, "")


def _time_per_game(rows: Sequence[Record], unchanged: dict[int, Record]) -> float:
    """Return how much longer a game takes than in the trainings of the same seeds without a change.

    Where the CPU seconds were not kept, the rows have this ratio itself.
    """
    timed = [row for row in rows if "training_cpu_s" in row]
    if not timed:
        return float(rows[0]["cpu_time_per_game_ratio"])
    changed, usual = (
        sum(row["training_cpu_s"] for row in some) / sum(row["games"] for row in some)
        for some in (timed, [unchanged[row["seed"]] for row in timed])
    )
    return float(changed / usual)


def train_3x3_averaging(record: Record) -> str:
    """Return the games until a network is verified, with and without averaged weights."""
    latest, averaged = trainings(record, setting="--set averaging=0.0"), trainings(record)
    first, *others = map(str, latest)
    rows = [
        ["averaged weights", *(averaged[seed]["games"] or "none" for seed in latest)],
        ["the latest weights", *(row["games"] or "none" for row in latest.values())],
    ]
    return markdown(["", f"seed {first}", *others], rows)


def losing_lines(manifest: Record) -> str:
    """Return the number of lines that the 3x3 network loses, by search and number of playouts."""
    plain, drawn, graders = (counted["losing_lines"] for counted in manifest["strength"])
    header = ["playouts", "the reference's search, `policy_value_fn`", "the same, `policy_value_fn_random`"]
    rows = ([playouts, plain[playouts], drawn[playouts], graders[playouts]] for playouts in plain)
    return markdown([*header, "the grader's search"], rows, "r")


# ------------------------------------------------------------------------------------------ supervised networks


def _held_back(*networks: Record) -> list[list[str]]:
    """Return the rows that say how well networks predict the engine on held-back games."""
    return [
        ["held back: the engine's move is the network's first choice", *(percent(one["top_1"]) for one in networks)],
        ["... among its first five", *(percent(one["top_5"]) for one in networks)],
        ["... mean squared error of the value", *(rounded(one["value_mse"], 3) for one in networks)],
    ]


def supervised(small: Record, large: Record) -> str:
    """Return how the networks for 11x11 and 15x15 were trained on the teacher's games."""
    networks = small["started_from"], large["started_from"]
    results = [
        [sum(file["results"][name] for file in network["teacher"]["games"]) for name in ("black", "white", "drawn")]
        for network in networks
    ]
    rows: list[list[object]] = [
        [
            "the teacher's games, and the engine's revision",
            *(f"{sum(counts)}, {n['teacher']['engine']}" for counts, n in zip(results, networks, strict=True)),
        ],
        ["won by black / white / drawn", *(" / ".join(map(str, counts)) for counts in results)],
        ["positions trained on", *(n["positions"] for n in networks)],
        ["samples", *(n["samples"] for n in networks)],
        ["CPU hours of training", *(rounded(n["cpu_hours"], 2) for n in networks)],
    ]
    return markdown(["", "11x11", "15x15"], [*rows, *_held_back(*(n["held_back"] for n in networks))])


def after_self_play(manifest: Record) -> str:
    """Return how far self-play has moved the 11x11 network away from the engine."""
    rows = _held_back(manifest["started_from"]["held_back"], manifest["held_back"])
    return markdown(["", "supervised", "after self-play"], rows)


AGENT = re.compile(r"(alphazero|gumbel):(\S+?)\?playouts=(\d+)|mcts:playouts=(\d+)|build/engines/(\w+)")
SEARCHES = {"alphazero": "PUCT", "gumbel": "Gumbel"}


def _agents(command: str) -> list[str]:
    """Return the names of the agents of a match."""
    names = []
    for search, weights, playouts, pure, engine in AGENT.findall(command):
        if search:
            sizes = re.findall(r"\d+", Path(weights).stem)  # of model/11_11_5.pt or runs/sl_11.pt
            network = f"{sizes[0]}x{sizes[1]}" if len(sizes) > 1 else f"the supervised {sizes[0]}x{sizes[0]}"
            name = f"{network}, {SEARCHES[search]}, {playouts} playouts"
            names.append(f"{name}, as an `alphazero:` player" if "evaluate.py" in command else name)
        else:
            names.append(f"pure search, {pure} playouts" if pure else f"the {engine}")
    return names


def matches(*manifests: Record) -> str:
    """Return the matches with the networks of manifests that were played by a command; Gumbel search comes last."""
    rows = []
    for match in (match for manifest in manifests for match in manifest["strength"]):
        agents = _agents(match["command"])
        if len(agents) == 2:
            rows.append([*agents, match["games"], *_played(match)])
    rows.sort(key=lambda row: "Gumbel" in row[0])
    return markdown(["first", "second", "games", "won / drawn / lost", "score, 95 %"], rows, "llr")


def _played(match: Record) -> tuple[str, str]:
    """Return the counts of a match in a manifest, as won / drawn / lost, and its score with the interval."""
    counts = {"won": match["wins"], "drawn": match["draws"], "lost": match["losses"]}
    low, high = map(without_zero, match["interval_95"])
    return " / ".join(map(str, counts.values())), f"{rounded(rate_of(counts), 2).removeprefix('0')}, {low} to {high}"


# --------------------------------------------------------------------------------------------- self-play runs


def _counts(row: Record, opponent: str) -> str:
    """Return the result of an evaluation against an opponent as won : drawn : lost, or - if there was no such match."""
    if f"{opponent}_won" not in row:
        return "-"
    return " : ".join(str(row[f"{opponent}_{part}"]) for part in ("won", "drawn", "lost"))


def _rating(row: Record) -> str:
    return f"{row['elo']:+} +- {row['error_95']}"


def selfplay_without_gate(manifest: Record) -> str:
    """Return the evaluations of a run without a gate, for which every network is the best one."""
    settings = manifest["configurations"][0]
    header = f"against the previous network, {settings['match_playouts']} playouts, won : drawn : lost"
    rows = [
        [row["games"], row["steps"] * settings["batch_size"], _counts(row, "against_other"), _counts(row, "against_mcts")]
        for row in manifest["evaluations"]
    ]
    return markdown(["games", "samples", header, f"against pure search, {settings['mcts_playouts']} playouts"], rows, "r")


def selfplay_runs(manifest: Record, supervised: str) -> str:
    """Return the matches of the networks of successive runs on one board, each of which goes on with the one before.

    Args:
        supervised: the network from an engine's games that each of them has played against, as commands name it. Their other
            match is against the network before.
    """
    runs = [manifest]
    while "started_from" in runs[-1]:
        runs.append(runs[-1]["started_from"])
    rows = []
    for number, run in enumerate(reversed([run for run in runs if run["board"] == manifest["board"]]), 1):
        by_opponent: dict[bool, Record] = {f"{supervised}?" in match["command"]: match for match in run["strength"]}
        played = (": ".join(_played(by_opponent[which])) if which in by_opponent else "-" for which in (False, True))
        rows.append([number, run["games"], run["samples"], *played])
    return markdown(["run", "games", "samples", "against the network before", f"against `{supervised}`"], rows, "r")


def selfplay_5x5x4(manifest: Record) -> str:
    """Return the evaluations of a run with a gate."""
    rows = [
        [row["games"], row["steps"], _counts(row, "against_other"), _counts(row, "against_mcts"), _rating(row)]
        for row in manifest["evaluations"]
    ]
    other, mcts = (f"against {opponent} won : drawn : lost" for opponent in ("the best network", "pure MCTS"))
    return markdown(["games", "steps", other, mcts, "Elo, 95 %"], rows, "r")


def selfplay_tictactoe(record: Record) -> str:
    """Return the evaluations of a run on 3x3, with the lines that the networks lose."""
    playouts = list(record["rows"][0]["losing_lines"])
    rows = [
        [
            row["games"],
            row["steps"],
            " / ".join(str(row["losing_lines"][number]) for number in playouts),
            _counts(row, "against_mcts"),
            _rating(row),
        ]
        for row in record["rows"]
    ]
    lines = f"losing lines at {' / '.join(playouts)} playouts"
    return markdown(["games", "steps", lines, "against pure MCTS won : drawn : lost", "Elo, 95 %"], rows, "r")


def muzero_losing_lines(record: Record) -> str:
    """Return the lines that MuZero loses over training, with a column for each seed."""
    rows = record["rows"]
    seeds, games = (sorted({row[name] for row in rows}) for name in ("seed", "games"))
    found = {(row["seed"], row["games"]): row for row in rows}
    table = []
    for count in games:
        here = [found.get((seed, count)) for seed in seeds]
        seconds = [row["cpu_s"] for row in here if row]
        cells = ["-" if row is None else " / ".join(map(str, row["losing_lines"].values())) for row in here]
        table.append([count, rounded(sum(seconds) / len(seconds)), *cells])
    return markdown(["games", "CPU s", *(f"seed {seed}" for seed in seeds)], table, "r")


def muzero_reanalysis(with_it: Record, without: Record) -> str:
    """Return the lines lost at the most playouts, by games, of runs with reanalysis and of runs without it."""
    share = with_it["configuration"]["reanalysed_share"]
    halves = [(f"{100 * share:g} % reanalysed", with_it), ("none", without)]
    seeds = sorted({row["seed"] for row in without["rows"]})
    playouts = list(without["rows"][0]["losing_lines"])[-1]
    lost = [{(row["seed"], row["games"]): row["losing_lines"][playouts] for row in half["rows"]} for _, half in halves]
    table = []
    for games in sorted({row["games"] for row in without["rows"]}):
        table.append([games, *(" / ".join(str(found.get((seed, games), "-")) for seed in seeds) for found in lost)])
    listed_seeds = " / ".join(map(str, seeds))
    return markdown(["games", *(f"{name}: seeds {listed_seeds}" for name, _ in halves)], table, "r")


def muzero_accuracy(record: Record) -> str:
    """Return how the learnt models compare with the rules, k moves ahead, as means over the seeds."""
    names = ("illegal_mass", "likeliest_legal", "rewards_right", "ends_seen", "draws_seen")
    steps = sorted({row["steps"] for row in record["accuracy"]})
    table = []
    for k in steps:
        rows = [row for row in record["accuracy"] if row["steps"] == k]
        table.append([k, *(percent(sum(row[name] for row in rows) / len(rows)) for name in names)])
    header = ["k", "probability of illegal moves", "likeliest move legal", "reward right", "win seen", "draw seen"]
    return markdown(header, table, "r")


def killed_run(record: Record) -> str:
    """Return what the checkpoint held whenever a run was killed."""
    header = ["killed after games", "games in the checkpoint", "steps in it"]
    rows = [[row["games"], row["games_in_checkpoint"], row["steps_in_checkpoint"]] for row in record["rows"]]
    return markdown(header, rows, "r")


# ---------------------------------------------------------------------------------------------------- AlphaGo


def _scored(match: Record) -> str:
    low, high = (rounded(match[end], 3) for end in ("low_95", "high_95"))
    return f"score {rounded(rate_of(match), 3)} ({low} to {high})"


def _match_results(named: Sequence[tuple[str, Record]]) -> str:
    """Return several matches in one sentence, the first of which says what its counts are."""
    (name, first), *others = named
    parts = [f"{name}: {first['won']} won, {first['drawn']} drawn, {first['lost']} lost, {_scored(first)}"]
    parts += [f"{name}: {match['won']}, {match['drawn']}, {match['lost']}, {_scored(match)}" for name, match in others]
    return "; ".join(parts)


def _minutes(stage: Record) -> str:
    return f"{rounded(stage['cpu_s'] / 60)} min" if "cpu_s" in stage else ""


def alphago(record: Record) -> str:
    """Return the measurements of the teacher and of AlphaGo's stages."""
    teacher, policy, fast, improved, value, search = (
        record[stage] for stage in ("teacher", "supervised", "rollout", "reinforce", "value", "search")
    )
    network, held = value["one_position_a_game"], policy["held_back"]
    drawn, likeliest = improved["against_supervised"], improved["likeliest_moves_against_supervised"]
    pairings = {tuple(name.split(", ")): match for name, match in search.items() if " against " in name}
    (_, playouts, rollouts), first = next(iter(pairings.items()))
    shares = [" against ".join(f"{float(share):g}" for share in name[0].split(" against ")) for name in pairings]
    others = [("the mean alone", "the_mean"), ("the supervised value head", "supervised")]
    others.append(("the network from which it started", "reinforce"))
    errors = ", ".join(f"{name} {rounded(value[f'mse_of_{key}'], 3)}" for name, key in others)
    estimated = "about " if improved.get("cpu_s_is_estimated") else ""
    rows = [
        ["teacher", "", _minutes(teacher), f"{teacher['games']} games, {teacher['positions']} positions"],
        [
            "supervised",
            f"{policy['positions']} positions, {policy['samples']} samples",
            f"{policy['cpu_s']} s",
            f"{held['positions']} held back: engine's move first in {percent(held['top_1'])}, among the first five in "
            f"{percent(held['top_5'])}; value MSE {rounded(held['value_mse'], 3)}",
        ],
        [
            "rollout",
            f"{fast['positions']} positions, {fast['samples']} samples",
            f"{fast['cpu_s']} s",
            f"{fast['held_back_positions']} held back: engine's move first in {percent(fast['top_1'])}, among the first five "
            f"in {percent(fast['top_5'])}; {fast['us_a_move']:.0f} µs a move",
        ],
        [
            "reinforce",
            f"{improved['steps']} steps of {improved['games'] // improved['steps']} games",
            f"{estimated}{improved['cpu_s']} s",
            f"against the supervised policy, {drawn['games']} games, "
            + _match_results([("both drawing their moves", drawn), ("both playing their most probable moves", likeliest)]),
        ],
        [
            "value",
            f"{value['games']} games, {network['positions']} positions, {network['samples']} samples",
            f"{network['cpu_s']} s, plus the games",
            f"{value['held_back_positions']} held back: MSE {rounded(network['mse_held_back'], 3)}; {errors}",
        ],
        [
            "search",
            f"{first['games']} games per pairing, {playouts} per move, {rollouts}",
            _minutes(search),
            "lambda " + _match_results(list(zip(shares, pairings.values(), strict=True))),
        ],
    ]
    return markdown(["stage", "from", "CPU time", "result"], rows, "l")


def alphago_seeds(record: Record) -> str:
    """Return the measurements of AlphaGo's stages in a game without a rollout policy, with a column for each seed."""
    runs = record["rows"]
    errors = [run["value"] for run in runs]
    matches = [name for name in runs[0]["search"] if " against " in name]

    def score(match: Record) -> str:
        return _rate_with_interval(match["score"], match["low_95"], match["high_95"])

    def share_of_the_mean(run: Record) -> str:
        return rounded(run["one_position_a_game"]["mse_held_back"] / run["mse_of_the_mean"], 2)

    minutes = [sum(run[stage]["cpu_s"] for stage in ("supervised", "reinforce", "search")) / 60 for run in runs]
    rows = [
        ["supervised: engine's move first", *(percent(run["supervised"]["held_back"]["top_1"]) for run in runs)],
        ["reinforce: drawing their moves", *(score(run["reinforce"]["against_supervised"]) for run in runs)],
        ["... most probable moves", *(score(run["reinforce"]["likeliest_moves_against_supervised"]) for run in runs)],
        ["value: MSE", *(rounded(run["one_position_a_game"]["mse_held_back"], 3) for run in errors)],
        ["... of the mean alone", *(rounded(run["mse_of_the_mean"], 3) for run in errors)],
        ["... as a share of that", *map(share_of_the_mean, errors)],
        ["... of the supervised value head", *(rounded(run["mse_of_supervised"], 3) for run in errors)],
        *([f"search: lambda {name.split(',')[0]}", *(score(run["search"][name]) for run in runs)] for name in matches),
        ["CPU min", *map(rounded, minutes)],
    ]
    return markdown(["stage", *(f"seed {run['seed']}" for run in runs)], rows)


def alphago_value(record: Record) -> str:
    """Return what the value network learns from one position in each game, and from all of them."""
    names = {
        "one_position_a_game": "one position from each game",
        "as_many_positions_of_fewer_games": "all positions from fewer games",
        "all_positions_of_all_games": "all positions from all games",
    }
    learnt = [(name, record["value"][key]) for key, name in names.items() if key in record["value"]]
    rows = [
        [name, one["positions"], rounded(one["mse_learnt_from"], 3), rounded(one["mse_held_back"], 3)] for name, one in learnt
    ]
    return markdown(["learns from", "positions", "MSE in training", "MSE on the held-back positions"], rows)


# --------------------------------------------------------------------------------- switches of self-play, one at a time


def training_ablation(record: Record) -> str:
    """Return what each switch of self-play is worth: a row for each seed, and one for the mean of several seeds."""
    groups: dict[str, list[Record]] = {}
    for row in sorted(record["rows"], key=lambda row: row["seed"]):
        groups.setdefault(f"`{row['options']}`", []).append(row)
    table: list[list[object]] = []
    for options, rows in groups.items():
        for row in rows:
            costs = [" / ".join(rounded(value) for value in row[f"run_{part}"]) for part in ("games", "samples", "cpu_s")]
            score = _rate_with_interval(row["score"], row["low_95"], row["high_95"])
            table.append(["" if row is not rows[0] else options, row["seed"], *_games_of([row]), score, *costs])
        if len(rows) > 1:
            table.append(["", "mean", *_games_of(rows), _rate_with_interval(*mean_over_seeds(rows)), "", "", ""])
    header = ["switch", "seed", "games", "distinct", "won / drawn / lost", "score, 95 %"]
    return markdown([*header, "games of self-play, with / without", "samples", "CPU s"], table)


def go_passes(record: Record) -> str:
    """Return for each agent what it is worth that searches of Go play on after two passes."""
    header = ["search", "playouts of new nodes", "touched by the rule", "won / drawn / lost", "score with the rule, 95 %"]
    return markdown(
        header,
        (
            [
                _searching(row["agent"]),
                row["nodes"],
                f"{100 * row['touched'] / row['nodes']:.2g} %",
                f"{row['won']} / {row['drawn']} / {row['lost']}",
                _rate_with_interval(row["score"], row["low_95"], row["high_95"]),
            ]
            for row in record["rows"]
        ),
    )


def _searching(agent: str) -> str:
    names = {"mcts": "random rollouts", "best": "the run's best network"}
    stem = Path(agent).stem
    return f"network after {int(stem)} games" if stem.isdigit() else names.get(stem, stem)


def mean_over_seeds(rows: Sequence[Record]) -> tuple[float, float, float]:
    """Return the mean score of several seeds and its 95 % interval by Student's t, which holds for further seeds.

    The scores differ by the games that were played and by how training went. If they differ by less than the games alone let
    expect, the variance is that of the games.
    """
    scores, count = [row["score"] for row in rows], len(rows)
    of_games = mean(((row["high_95"] - row["low_95"]) / (2 * Z_95)) ** 2 for row in rows)
    error = t_quantile_975(count - 1) * (max(variance(scores), of_games) / count) ** 0.5
    return mean(scores), max(0.0, mean(scores) - error), min(1.0, mean(scores) + error)


def _games_of(rows: Sequence[Record]) -> list[object]:
    games, distinct, *results = (sum(row[name] for row in rows) for name in ("games", "distinct_games", "won", "drawn", "lost"))
    return [games, distinct, " / ".join(map(str, results))]


def _rate_with_interval(rate: float, low: float, high: float) -> str:
    return f"{without_zero(rate)}, {without_zero(low)} to {without_zero(high)}"
