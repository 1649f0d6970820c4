"""Tables of docs/theory.md from recorded measurements (bench/records/)."""

from __future__ import annotations

import json
from typing import Any

from arena.statistics.estimates import elo, wilson_95
from common.errors import UsageError
from docs.examples.text import Language, chosen, signed, table
from grader.assignment import ROOT
from grader.assignment_file import load_assignment

RECORDS = ROOT / "bench" / "records"
IDEAS = {
    "danger": ("search on while a four or an open three is unanswered", "有四或活三未应时继续搜索"),
    "table": ("transposition table", "置换表"),
    "forced": ("forced replies only, where there are any", "有必应着法时只考虑它们"),
    "width": ("the 24 most promising quiet moves only", "安静着法只取最有希望的 24 个"),
    "pvs": ("principal variation search", "主要变例搜索 (PVS)"),
    "balance": ("a third stone that keeps the balance", "第三颗棋子接近均势"),
    "vcf,rootvcf,rootvct": ("threat search at the leaves and before the search", "叶节点处和搜索前的威胁搜索"),
    "killers,history": ("killer moves and history heuristic", "杀手着法与历史启发"),
    "lmr": ("late move reductions", "后期着法缩减 (LMR)"),
    "extension": ("the answer to a four does not use up depth", "挡四不占用深度"),
    "wins": ("an open four and a double four count as won without a search", "活四和双四不搜索就算获胜"),
}
"""Ideas of the ablation, and what they are."""


def recorded_rows(name: str, key: str = "rows") -> list[dict[str, Any]]:
    """Return a list of a record.

    Raises:
        UsageError: the record cannot be read or has no such list.
    """
    path = RECORDS / f"{name}.json"
    try:
        rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))[key]
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"expected a record with {key} in {path}; {type(error).__name__}: {error}") from error
    return rows


def improvement(language: Language) -> str:
    """Return how many lines a network loses with few and with many playouts, in the course of a run."""
    header = [
        chosen(language, "Self-play games", "自对弈局数"),
        chosen(language, "Losing lines, 100 playouts", "输掉的变化，100 次模拟"),
        chosen(language, "400 playouts", "400 次模拟"),
    ]
    rows = []
    for row in recorded_rows("selfplay_tictactoe"):
        lines = row["losing_lines"]
        rows.append((row["games"], lines["100"], lines["400"]))
    return table(header, rows, "rrr")


def steps(language: Language) -> str:
    """Return what ideas of the reference engine are worth in games, most first."""
    rows = []
    for row in sorted(recorded_rows("ablation"), key=lambda row: row["lost"] - row["won"]):
        low, high = (signed(value) for value in row["elo_95"])
        rows.append(
            (
                chosen(language, *IDEAS[row["without"]]),
                f"{row['won']} : {row['lost']}",
                signed(elo((row["won"] + row["drawn"] / 2) / row["games"])),
                chosen(language, f"{low} to {high}", f"{low} 至 {high}"),
            )
        )
    header = [
        chosen(language, "Idea", "想法"),
        chosen(language, "Won : lost with it, of 64 games", "有它时的胜 : 负，共 64 局"),
        "Elo",
        "95 %",
    ]
    return table(header, rows, "lrrr")


def rungs(language: Language) -> str:
    """Return the measured matches between neighbouring engines of the ladder, weakest first, without the reference."""
    header = [
        chosen(language, "Engine", "引擎"),
        chosen(language, "Opponent", "对手"),
        chosen(language, "Won : lost", "胜 : 负"),
        chosen(language, "Win rate, 95 %", "胜率，95 %"),
    ]
    rows = []
    for match in recorded_rows("ladder", "matches"):
        if match["stronger"] != "reference":
            won, drawn, games = match["won"], match["drawn"], match["games"]
            low, high = wilson_95(won + drawn / 2, games)
            interval = chosen(language, f"{low:.2f} to {high:.2f}", f"{low:.2f} 至 {high:.2f}")
            score = f"{won} : {match['lost']}", f"{(won + drawn / 2) / games:.2f}, {interval}"
            rows.append((f"`{match['stronger']}`", f"`{match['weaker']}`", *score))
    return table(header, rows, "llrr")


MILESTONES = {
    "step_1": ("1", "wins at once, stops fives", "立即取胜，挡住对方的五"),
    "step_2": ("2", "greedy: the best evaluation after its move", "贪心：走子后评估最好的点"),
    "step_3": ("3", "alpha-beta to depth 2", "alpha-beta，深度 2"),
    "step_4": ("3", "alpha-beta to depth 4", "alpha-beta，深度 4"),
    "step_6": (
        "4, 5",
        "iterative deepening to depth 6, transposition table, killer moves",
        "迭代加深到深度 6，置换表，杀手着法",
    ),
    "step_7": ("4, 5", "the same, for 1 s in place of depth 6", "同上，但用 1 秒时间代替深度 6"),
    "step_5": ("6", "depth 4, and victory by continuous fours", "深度 4，加上连续冲四取胜"),
    "step_8": ("6", "iterative deepening for 1 s, and victory by continuous fours", "迭代加深 1 秒，加上连续冲四取胜"),
}
"""Small engine -> the step of the milestones at which it stands, and what it does; in the order of these steps."""


def milestones(language: Language) -> str:
    """Return how small engines at the milestones of Part 1 scored against the baseline, and the points for such a score."""
    found = {row["step"]: row for row in recorded_rows("milestones") if row["opponent"] == "baseline"}
    assignment = load_assignment()
    full = assignment.check("minimax.win_rate").points
    rows = []
    for engine, (step, english, chinese) in MILESTONES.items():
        won, drawn, lost, games = (found[engine][name] for name in ("won", "drawn", "lost", "games"))
        low, high = wilson_95(won + drawn / 2, games)
        interval = chosen(language, f"{low:.2f} to {high:.2f}", f"{low:.2f} 至 {high:.2f}")
        points = f"{assignment.win_rate_points(won, lost, games, full):g}"
        rows.append((step, chosen(language, english, chinese), f"{won} : {lost}", interval, points))
    header = [
        chosen(language, "Step", "步骤"),
        chosen(language, "Engine", "引擎"),
        chosen(language, "Won : lost against the baseline", "对基准引擎的胜 : 负"),
        chosen(language, "Win rate, 95 %", "胜率，95 %"),
        chosen(language, "Points", "分数"),
    ]
    return table(header, rows, "llrrr")


def augmentation(language: Language) -> str:
    """Return the games that training took with and without symmetric copies of the positions, for three seeds."""
    rows = [row for row in recorded_rows("train_3x3") if row["submission"] == "reference" and row["seed"] <= 3]
    with_it = [row for row in rows if not {"set", "without"} & set(row)]
    without = [row for row in rows if row.get("without") == ["augmentation"]]
    header = [chosen(language, "Positions are learned", "局面的学法"), *(f"seed {row['seed']}" for row in with_it)]
    table_rows = []
    for english, chinese, found in (
        ("in all eight symmetries", "八种对称形式", with_it),
        ("as they were played", "只学原样", without),
    ):
        games = [
            str(row["games"]) if row["games"] else chosen(language, f"none in {row['limit']}", f"{row['limit']} 局内没有")
            for row in found
        ]
        table_rows.append((chosen(language, english, chinese), *games))
    return table(header, table_rows, "lrrr")


def gumbel(language: Language) -> str:
    """Return how Gumbel search scored against PUCT on 5x5 with four in a row, with equal playouts and with equal CPU time."""
    pairing = {"kind": "match", "board": "5x5x4", "first": "puct", "second": "gumbel"}
    rows = []
    for row in (row for row in recorded_rows("family") if pairing.items() <= row.items()):
        playouts, times = (" / ".join(f"{value:.0f}" for value in row[name]) for name in ("playouts", "cpu_ms_a_move"))
        low, high = 1 - row["high_95"], 1 - row["low_95"]
        interval = chosen(language, f"{low:.2f} to {high:.2f}", f"{low:.2f} 至 {high:.2f}")
        won = f"{row['lost']} : {row['drawn']} : {row['won']}"
        rows.append((playouts, times, won, f"{1 - row['score']:.2f}, {interval}"))
    header = [
        chosen(language, "Playouts, PUCT / Gumbel", "模拟次数，PUCT / Gumbel"),
        chosen(language, "CPU ms per move", "每步 CPU 毫秒"),
        chosen(language, "Gumbel won : drawn : lost", "Gumbel 胜 : 和 : 负"),
        chosen(language, "Win rate of Gumbel, 95 %", "Gumbel 的胜率，95 %"),
    ]
    return table(header, rows, "llrr")
