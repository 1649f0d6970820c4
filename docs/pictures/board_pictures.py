"""Pictures of boards: coordinates and feature planes. The planes are those of Board.current_state, row 0 on top."""

from __future__ import annotations

from docs.examples.text import Language, chosen, small_board
from docs.pictures.drawing import Drawing

PLANES_OF = (4, 0, 8, 2)


def board(language: Language) -> Drawing:
    """The points of a 3x3 board as moves, and the axes of a 15x15 board."""
    title = chosen(
        language,
        "Coordinates: moves on 3x3 in Python, x and y on 15x15 in C++",
        "坐标：Python 中 3x3 的着法，C++ 中 15x15 的 x 和 y",
    )
    picture = Drawing(720, 350, title)
    picture.text(150, 24, "Python: move = h * width + w", style="mono")
    for row in range(3):
        y = 250 - 75 * row
        picture.text(28, y, f"h = {row}", colour="accent", style="mono", size=13)
        picture.text(90 + 75 * row, 306, f"w = {row}", colour="accent", style="mono", size=13)
        for column in range(3):
            picture.rect(55 + 75 * column + 0.5, y - 37, 75, 75, fill="wood", round_by=0)
    for move in range(9):
        picture.text(92 + 75 * (move % 3), 250 - 75 * (move // 3), str(move), size=22, style="bold")
    picture.text(150, 334, chosen(language, "bottom row: 0 1 2", "最下一行：0 1 2"), size=13, colour="soft")
    left, top, step = 430, 52, 17
    picture.text(left + 7 * step, 24, "C++: x y", style="mono")
    picture.rect(left - 12, top - 12, 14 * step + 24, 14 * step + 24, fill="wood", round_by=3)
    for number in range(15):
        picture.line([(left + step * number, top), (left + step * number, top + 14 * step)], width=0.8)
        picture.line([(left, top + step * number), (left + 14 * step, top + step * number)], width=0.8)
    picture.line(
        [(left + x * step, top + (14 - y) * step) for x, y in ((4, 4), (10, 4), (10, 10), (4, 10), (4, 4))],
        colour="bad",
        width=2,
    )
    for x, y, black in ((7, 7, True), (8, 8, False), (7, 8, True)):
        picture.stone(left + x * step, top + (14 - y) * step, 7.5, black=black)
    for value in (0, 4, 10, 14):
        picture.text(left - 22, top + (14 - value) * step, str(value), size=12, colour="accent", anchor="end", style="mono")
        picture.text(left + value * step, top + 14 * step + 24, str(value), size=12, colour="accent", style="mono")
    picture.text(left - 44, top + 3 * step, "y", colour="accent", style="mono")
    picture.text(left + 7 * step, top + 14 * step + 26, "x", colour="accent", style="mono")
    note = chosen(language, "red: where black's first stone may lie", "红框：黑方第一子的范围")
    picture.text(left + 7 * step, 334, note, size=13, colour="soft")
    return picture


def planes(language: Language) -> Drawing:
    """A position and its nine planes."""
    title = chosen(language, "A position and its nine feature planes", "一个局面及其九个特征平面")
    picture = Drawing(760, 300, title)
    position = small_board(PLANES_OF)
    state = position.current_state()
    own = position.get_current_player()
    picture.text(92, 24, chosen(language, "board, X to move", "棋盘，轮到 X"), style="bold")
    for move in range(9):
        x, y = 35 + 38 * (move % 3), 44 + 38 * (2 - move // 3)
        picture.rect(x, y, 38, 38, fill="wood", round_by=0)
        if move in position.states:
            order = list(position.states).index(move) + 1
            mark = "X" if position.states[move] == own else "O"
            picture.text(x + 16, y + 18, mark, size=18, style="bold")
            picture.text(x + 31, y + 29, str(order), size=10, colour="soft")
    notes = chosen(
        language,
        "small: which move\nrow 0 of a plane is\nthe top row, h = 2",
        "小字：第几手\n平面的第 0 行是\n最上一行，h = 2",
    )
    for number, note in enumerate(notes.split("\n")):
        picture.text(92, 182 + 19 * number, note, size=13, colour="soft")
    labels = (
        chosen(language, "0 opponent", "0 对手"),
        chosen(language, "2 without last 1", "2 去掉最后 1 手"),
        chosen(language, "4 last 2", "4 最后 2 手"),
        chosen(language, "6 last 3", "6 最后 3 手"),
        chosen(language, "1 own", "1 己方"),
        chosen(language, "3 without last 1", "3 去掉最后 1 手"),
        chosen(language, "5 last 2", "5 最后 2 手"),
        chosen(language, "7 last 3", "7 最后 3 手"),
        chosen(language, "8 even number", "8 棋子数为偶"),
    )
    for place, (plane, label) in enumerate(zip((0, 2, 4, 6, 1, 3, 5, 7, 8), labels, strict=True)):
        left, top = 205 + 112 * (place % 4), 44 + 148 * (place // 4)
        if plane == 8:
            left, top = 205 + 112 * 4, 118
        picture.text(left + 42, top - 12, label, size=12.5)
        for row in range(3):
            for column in range(3):
                one = state[plane, row, column] == 1
                picture.rect(left + 28 * column, top + 28 * row, 28, 28, fill="accent" if one else "paper", round_by=0)
                picture.text(
                    left + 28 * column + 14,
                    top + 28 * row + 14,
                    str(int(one)),
                    size=13,
                    colour="paper" if one else "soft",
                    style="mono",
                )
    return picture
