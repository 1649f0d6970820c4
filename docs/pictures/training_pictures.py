"""Pictures of training: the loop of AlphaZero, and what a recorded run of self-play reached (bench/records/)."""

from __future__ import annotations

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
