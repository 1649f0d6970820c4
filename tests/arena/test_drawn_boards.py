"""A position of any game is drawn by one template."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from arena.view.drawn_boards import BLACK, WHITE, drawn_position
from common.pages import template_environment
from games.catalog import rules_of

TEMPLATES = Path(__file__).resolve().parents[2] / "arena" / "view" / "templates"
SVG = "{http://www.w3.org/2000/svg}"


def picture_of(board):
    """The SVG picture as pages show it, parsed."""
    macros = template_environment(TEMPLATES).get_template("viewer.html.j2").module
    return ET.fromstring(str(macros.board(board)).strip().replace("<svg", f'<svg xmlns="{SVG[1:-1]}"', 1))


@pytest.mark.parametrize(
    ("game", "moves", "black", "white"),
    [
        ("gomoku", "a1 d3 b2", {(0, 0), (1, 1)}, {(3, 2)}),
        ("nogo", "a1 d3 b2", {(0, 0), (1, 1)}, {(3, 2)}),
        ("go", "b1 a1 a2 pass", {(1, 0), (0, 1)}, set()),  # a1 is captured
    ],
)
def test_a_position_of_any_game_is_drawn(game, moves, black, white):
    rules = rules_of(game, 4, 3, n_in_row=3)
    position = rules.position()
    position.init_board()
    for name in moves.split():
        position.do_move(rules.action_of(name))
    board = drawn_position(position, caption=game, has_letters=True)
    assert {(stone.x, stone.y) for stone in board.stones if stone.colour == BLACK} == black
    assert {(stone.x, stone.y) for stone in board.stones if stone.colour == WHITE} == white
    drawn = picture_of(board)
    circles = [each.get("class").split() for each in drawn.iter(f"{SVG}circle")]
    assert sorted(circles) == [["stone", BLACK]] * len(black) + [["stone", WHITE]] * len(white)
    assert [each.text for each in drawn.iter(f"{SVG}text")] == ["A", "B", "C", "D", "1", "2", "3"]
    assert drawn.get("aria-label") == game
