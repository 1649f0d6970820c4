"""What people hear of NoGo and Go: why a point is refused, who is out of moves, captures, territory and the score."""

import pytest

from Board.play.for_people import Gomoku
from Board.play.game_file import from_text, game_file
from common.errors import UsageError
from games.for_people import game_for_people

GO, NOGO = game_for_people("go", 5, 7.5), game_for_people("nogo", 5, None)
# Black takes b1 at c1 and white takes it back at b1: the ko around b1 and c1.
KO = ["a1", "d1", "b2", "c2", "e5", "b1", "c1"]


def after(game, names):
    position = game.new_position()
    for name in names:
        position.do_move(game.action_of(name))
    return position


@pytest.mark.parametrize(
    ("game", "moves", "point", "key"),
    [
        (GO, "c3", "c3", "point_taken"),
        (GO, KO, "b1", "ko"),
        (GO, "b1 e5 a2", "a1", "suicide"),
        (GO, "b1 e5 a2", "c3", None),
        (NOGO, "c3", "c3", "point_taken"),
        (NOGO, "a1 b1", "a2", None),
        (NOGO, "b1 a1", "a2", "would_capture"),
        (NOGO, "b1 e5 a2", "a1", "no_liberty"),
    ],
)
def test_a_refusal_has_its_reason(game, moves, point, key):
    position = after(game, moves.split() if isinstance(moves, str) else moves)
    move = game.action_of(point)
    refusal = game.refusal(position, move)
    assert (move in position.availables) == (key is None)
    assert refusal == (None if key is None else (key, {"point": point}))


def test_at_the_end_of_go_areas_captures_and_the_score_are_those_of_the_rules():
    moves = ["c1", "d1", "c2", "d2", "c3", "d3", "c4", "d4", "c5", "d5", "b5", "e1", "pass"]
    position = after(GO, moves)
    assert GO.territory(position) == {} and GO.ending(position) is None
    position.do_move(GO.pass_action)
    territory = GO.territory(position)
    assert {GO.action_name(point) for point, side in territory.items() if side == 1} == {"e2", "e3", "e4", "e5"}
    assert len(territory) == 13 and not set(territory) & set(position.states)
    assert GO.captures(position) == (0, 0)
    assert GO.ending(position) == (
        "white_by_points",
        {"black": 15, "white": 10, "komi": "7.5", "total": "17.5", "margin": "2.5"},
    )
    assert position.score() == -2.5 and GO.margin(position) == "2.5"


def test_captures_are_counted_for_the_side_that_took_them():
    assert GO.captures(after(GO, KO)) == (1, 0)


def test_nogo_says_who_has_no_move_left():
    game = game_for_people("nogo", 2, None)
    position = after(game, ["a1", "b2", "b1"])
    assert game.ending(position) == ("white_cannot_move", {}) and position.game_end() == (True, 1)


@pytest.mark.parametrize(("game", "moves"), [(GO, [*KO, "pass", "e4", "pass", "pass"]), (NOGO, ["b1", "a1", "c3"])])
def test_a_saved_game_is_read_again_by_its_own_game_alone(game, moves):
    actions = [game.action_of(name) for name in moves]
    text = game_file(game, actions, "a", "b", "W+2.5").to_text()
    again = from_text(text, game)
    assert list(again.actions) == actions and again.result == "W+2.5" and game.difference(again.played) is None
    with pytest.raises(UsageError, match="expected a game of"):
        from_text(text, NOGO if game is GO else GO)
    with pytest.raises(UsageError, match="expected a game of Gomoku"):
        from_text(text)


def test_a_file_with_another_size_or_komi_differs():
    assert GO.difference(from_text("(;GM[1]SZ[9])", GO).played)[0] == "other_board"
    assert GO.difference(from_text("(;GM[1]SZ[5]KM[6.5];B[])", GO).played)[0] == "other_komi"
    assert GO.difference(from_text("(;SZ[5];B[tt])", GO).played) is None
    for komi in ("x", "nan", "inf", "1e308", "0.3"):
        with pytest.raises(UsageError, match="expected a komi in steps of half a point"):
            from_text(f"(;GM[1]SZ[5]KM[{komi}])", GO)


def test_a_file_of_go_without_a_size_is_of_19x19_as_in_sgf():
    assert from_text("(;GM[1];B[aa])", GO).played.width == from_text("(;GM[1]RU[NoGo];B[aa])", NOGO).played.height == 19


def test_the_rules_of_nogo_are_named_in_any_case():
    assert from_text("(;GM[1]RU[nogo]SZ[5])", NOGO).played == NOGO
    with pytest.raises(UsageError, match="expected a game of Go"):
        from_text("(;GM[1]RU[nogo]SZ[5])", GO)


@pytest.mark.parametrize(("game", "heading"), [(GO, "GM[1]KM[7.5]"), (NOGO, "GM[1]RU[NoGo]")])
def test_a_file_with_more_columns_than_have_names_is_refused_for_its_size(game, heading):
    with pytest.raises(UsageError, match="expected a board of 1 to 25 columns and at least one row; got width 26, height 26"):
        from_text(f"(;{heading}SZ[26])", game)


def test_gomoku_is_described_as_it_was():
    game = Gomoku(3, 3, 3)
    assert game.is_cells and game.action_of("1, 2") == 5 and game.action_of("3,0") == -1 and game.action_name(5) == "1,2"
