"""Pictures of training: the loop of AlphaZero, and what recorded runs reached in the course of training (bench/records/)."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log1p
from statistics import median
from typing import Any

from docs.examples.records import recorded_rows
from docs.examples.text import Language, chosen
from docs.pictures.drawing import Drawing


def loop(language: Language) -> Drawing:
    """Network, search, games, training."""
    title = chosen(language, "The loop of AlphaZero", "AlphaZero 的循环")
    picture = Drawing(720, 270, title)
    picture.box(30, 95, 170, 76, [chosen(language, "network", "网络"), "p, v"], edge="accent")
    picture.box(
        290,
        20,
        170,
        76,
        [chosen(language, "search", "搜索"), chosen(language, "visit shares pi", "访问比例 pi")],
        edge="accent",
    )
    picture.box(530, 95, 170, 76, [chosen(language, "self-play games", "自对弈"), chosen(language, "results z", "胜负 z")])
    picture.box(290, 175, 170, 76, [chosen(language, "training step", "训练步"), "(z - v)², - pi log p"])
    picture.line([(160, 93), (160, 58), (288, 58)], colour="accent", width=2, arrow=True)
    picture.line([(460, 58), (615, 58), (615, 93)], colour="soft", width=2, arrow=True)
    picture.line([(615, 171), (615, 213), (462, 213)], colour="soft", width=2, arrow=True)
    picture.line([(290, 213), (115, 213), (115, 173)], colour="accent", width=2, arrow=True)
    picture.text(150, 40, chosen(language, "improvement", "改进"), colour="accent", size=13)
    picture.text(200, 232, chosen(language, "p towards pi, v towards z", "p 靠近 pi，v 靠近 z"), colour="accent", size=13)
    picture.text(560, 40, chosen(language, "moves drawn from pi", "按 pi 抽取着法"), colour="soft", size=13)
    picture.text(540, 232, chosen(language, "(state, pi, z)", "（状态，pi，z）"), colour="soft", size=13)
    return picture


def curves(language: Language) -> Drawing:
    """Losing lines and score of a recorded run on tic-tac-toe, against the number of its games."""
    title = chosen(language, "Learning curves of a recorded run on tic-tac-toe", "一次有记录的井字棋训练的学习曲线")
    picture = Drawing(760, 320, title)
    rows = recorded_rows("selfplay_tictactoe")
    games = [float(row["games"]) for row in rows]
    charts = (
        (
            70,
            chosen(language, "losing lines", "输掉的变化数"),
            {
                chosen(language, "100 playouts", "100 次模拟"): [float(row["losing_lines"]["100"]) for row in rows],
                chosen(language, "400 playouts", "400 次模拟"): [float(row["losing_lines"]["400"]) for row in rows],
            },
            (0, 10, 20, 30),
        ),
        (
            450,
            chosen(language, "score against pure MCTS", "对纯 MCTS 的得分率"),
            {"": [(row["against_mcts_won"] + row["against_mcts_drawn"] / 2) / 40 for row in rows]},
            (0, 0.25, 0.5, 0.75),
        ),
    )
    for left, head, series, ticks in charts:
        picture.text(left + 130, 24, head, style="bold")
        for tick in ticks:
            y = 250 - 190 * tick / ticks[-1]
            picture.line([(left, y), (left + 270, y)], width=0.7)
            picture.text(left - 8, y, f"{tick:g}", size=12, anchor="end", colour="soft")
        for tick in (0, 500, 1000, 1500):
            picture.text(left + 260 * tick / 1500, 268, str(tick), size=12, colour="soft")
        picture.text(left + 130, 292, chosen(language, "self-play games", "自对弈局数"), size=13, colour="soft")
        for number, (name, values) in enumerate(series.items()):
            colour = ("accent", "good")[number]
            points = [(left + 260 * g / 1500, 250 - 190 * v / ticks[-1]) for g, v in zip(games, values, strict=True)]
            picture.line(points, colour=colour, width=2.5)
            for x, y in points:
                picture.circle(x, y, 3.5, fill=colour, edge=colour)
            picture.text(left + 150, 70 + 22 * number, name, size=13, colour=colour, anchor="start")
    return picture


def family_curves() -> Drawing:
    """Losing lines on tic-tac-toe against the number of self-play games: for each method, the median and range of its seeds."""
    picture = Drawing(760, 390, "Losing lines on tic-tac-toe in the course of training, by method")
    curves: dict[str, list[dict[str, Any]]] = {"puct": [], "gumbel": [], "muzero": recorded_rows("muzero_tictactoe")}
    for row in recorded_rows("family"):
        if row["kind"] == "curve" and row["games"]:  # untrained networks have no place on a logarithmic axis
            curves[row["method"]].append(row)
    for left, playouts in ((60, "100"), (430, "400")):
        picture.text(left + 140, 24, f"losing lines, {playouts} playouts", style="bold")
        for tick in (0, 1, 10, 100):
            picture.line([(left, _height(tick)), (left + 290, _height(tick))], width=0.7)
            picture.text(left - 8, _height(tick), str(tick), size=12, anchor="end", colour="soft")
        for tick in (128, 512, 2048, 8192):
            picture.text(left + _across(tick), 342, str(tick), size=12, colour="soft")
        picture.text(left + 140, 368, "self-play games", size=13, colour="soft")
        for method, colour in (("muzero", "bad"), ("puct", "accent"), ("gumbel", "good")):
            _band(picture, left, curves[method], playouts, colour)
    for number, (name, colour) in enumerate((("PUCT", "accent"), ("Gumbel", "good"), ("MuZero", "bad"))):
        picture.text(90, 60 + 22 * number, name, size=13, colour=colour, anchor="start", style="bold")
    return picture


def _across(games: float) -> float:
    return 12 + 266 * log(games / 128) / log(8192 / 128)


def _height(lines: float) -> float:
    return 322 - 270 * log1p(lines) / log1p(400)


def _band(picture: Drawing, left: float, rows: Sequence[dict[str, Any]], playouts: str, colour: str) -> None:
    """Draw the range of all seeds, and the median with a point for each number of games at which every seed was measured."""
    seeds = {row["seed"] for row in rows}
    found: dict[int, list[int]] = {}
    for row in sorted(rows, key=lambda row: row["games"]):
        found.setdefault(_due(row["games"]), []).append(row["losing_lines"][playouts])
    columns = [(left + _across(games), counts) for games, counts in found.items() if len(counts) == len(seeds)]
    lower, upper = ([(x, _height(end(counts))) for x, counts in columns] for end in (min, max))
    picture.area([*lower, *reversed(upper)], colour=colour)
    middle = [(x, _height(median(counts))) for x, counts in columns]
    picture.line(middle, colour=colour, width=2.5)
    for x, y in middle:
        picture.circle(x, y, 3.5, fill=colour, edge=colour)


def _due(games: int) -> int:
    """Return the number of games after which a network was due; it is evaluated when the games in progress have ended."""
    return games // 128 * 128
