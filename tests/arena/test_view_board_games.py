"""Pages of NoGo and Go: captures, passes, the count at the end, and files that are no such game."""

from dataclasses import replace

import browser
import pytest
from game_records import game_record

from arena import __main__ as arena
from arena.engine.gtp import parse_vertex
from arena.engine.specs import engine_at
from arena.match.board_game import BoardGame
from arena.match.records import Records
from arena.match.setup import MatchSetup
from arena.match.sgf import game_to_sgf, read_sgf
from arena.rules import Termination
from arena.view.as_text import board_game_as_text
from arena.view.board_games import shown_board_game, shown_board_sgf
from arena.view.games import ending_of

NO_BROWSER = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
GO, NOGO = BoardGame("go", 5, komi=2.5), BoardGame("nogo", 2)
# White's stones at a1 and b1 are taken by the stone at c1; both pass; black owns the left, white the corner e5.
TAKEN = ("a2", "a1", "b2", "b1", "c1", "e4", "c2", "d5", "d3", "d4", "pass", "pass")


def board_record(game, names, termination=Termination.SCORE, winner=0, **changes):
    moves = tuple(parse_vertex(name, game.size) for name in names)
    times = {key: (0.5,) * len(moves) for key in ("move_s", "move_cpu_s", "withheld_s")}
    record = game_record(0, winner=winner, termination=termination, **times)
    return replace(
        record, **{"black": 0, "moves": moves, "names": ("alice", "bob"), "size": game.size, "game": game, **changes}
    )


def test_a_recorded_game_is_shown_as_text_with_what_was_taken():
    text = board_game_as_text(board_record(GO, TAKEN))
    lines = text.splitlines()
    assert lines[0] == "Game 0: alice is black (X), bob is white (O)."
    assert lines[5] == "   5 black C1      0.50 s  takes 2 stones" and lines[11] == "  11 black pass    0.50 s"
    assert lines[13:19] == [
        "  5  .  .  .  O  . ",
        "  4  .  .  . [O] O ",
        "  3  .  .  .  X  . ",
        "  2  X  X  X  .  . ",
        "  1  .  .  X  .  . ",
        "     A  B  C  D  E ",
    ]
    assert lines[19].startswith("Black (alice) won after two passes.")


def test_captured_stones_leave_the_board_and_the_end_is_counted():
    shown = shown_board_game(board_record(GO, TAKEN), agent=1)
    assert [step.code for step in shown.steps[3:6]] == ["w1,0", "b2,0x0,0x1,0", "w4,3"] and shown.steps[-1].code == "w-"
    stones = {(stone.x, stone.y): stone.colour for stone in shown.board.stones}
    assert len(stones) == 8 and (0, 0) not in stones and stones[4, 3] == "w" and shown.outcome == "lost"
    assert shown.ending.startswith(
        "Black (alice) won after two passes. Black has 7 points, white 4 and a komi of 2.5: black leads"
    )
    assert {point: colour for colour, point in shown.areas} == {(0, 0): "b", (1, 0): "b", (4, 4): "w"}


@pytest.mark.parametrize("game", [GO, NOGO], ids=["go", "nogo"])
def test_a_game_written_as_sgf_is_shown_like_its_record(tmp_path, game):
    names = TAKEN if game is GO else ("a1", "b2")
    record = board_record(game, names, Termination.SCORE if game is GO else Termination.NO_MOVE, winner=int(game is NOGO))
    file = tmp_path / "game.sgf"
    file.write_text(game_to_sgf(record))
    (read,) = read_sgf(file)
    assert read.board_game == game
    recorded, shown = shown_board_game(record), shown_board_sgf(read, 0)
    assert shown.steps == recorded.steps and shown.board.stones == recorded.board.stones and shown.areas == recorded.areas
    if game is GO:
        assert shown.ending.startswith("Black won by 0.5. Black has 7 points")
    else:
        assert recorded.ending == "White (bob) won: Black (alice) has no legal move."


def test_faults_and_resignations_are_told_as_in_gomoku():
    resigned = board_record(GO, TAKEN[:3], Termination.RESIGNED, winner=1)
    assert shown_board_game(resigned).ending == "White (bob) won: Black (alice) resigned."
    late = board_record(NOGO, ("a1",), Termination.TIMEOUT, faulty=1, detail="gave no answer within 1 s")
    assert shown_board_game(late).ending == ending_of(late) and "gave no answer in time" in ending_of(late)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("(;GM[1]SZ[5]KM[0];B[aa];W[aa])", "against the rules of go"),
        ("(;GM[1]SZ[5]KM[0];B[aa];B[bb])", "one of them moves twice"),
        ("(;GM[1]SZ[5]KM[0]AB[aa][cc];W[bb])", "handicap stones"),
        ("(;GM[1]SZ[5:7]KM[0];B[aa])", "must be square"),
        ("(;GM[1]SZ[5]KM[many];B[aa])", "it must be a number"),
        ("(;GM[1]SZ[5]KM[inf];B[aa])", "expected a komi"),
        ("(;GM[1]SZ[22]KM[0];B[aa])", "expected a board of 2x2 to 19x19"),
        ("(;GM[1]SZ[2]RU[NoGo];B[aa];W[])", "against the rules of nogo"),
    ],
)
def test_a_file_that_is_no_game_by_the_rules_is_refused_in_a_sentence(tmp_path, capsys, text, words):
    file = tmp_path / "game.sgf"
    file.write_text(text)
    assert arena.main(["view", str(file), "--out", str(tmp_path / "page.html")]) == 2
    said = capsys.readouterr().err
    assert said.startswith("arena: expected ") and words in said and said.count("\n") == 1
    assert not (tmp_path / "page.html").exists()


@NO_BROWSER
def test_a_page_of_records_is_clicked_through_with_captures_and_the_count(engines, tmp_path, capsys):
    spec = engine_at(str(engines / "sample"))
    kept = Records(tmp_path / "go.jsonl", MatchSetup((spec, spec), 1, 1, size=5, game=GO))
    kept.append(board_record(GO, TAKEN))
    page = tmp_path / "page.html"
    assert arena.main(["view", str(kept.path), "--out", str(page)]) == 0
    assert "black leads by 0.5" in capsys.readouterr().out
    with browser.browser() as window:
        window.view_as(390, 900)
        window.open(page.as_uri())

        def told():
            return window.run("return document.querySelector('.told').textContent")

        assert told().startswith("Ply 12 of 12: White passes") and len(window.find(".area.b")) == 2
        assert "".join(window.run("return [...document.querySelectorAll('.place')].map(t => t.textContent)")) == "ABCDE12345"
        window.click(window.find(".first")[0])
        for stones in (1, 2, 3, 4, 3):
            window.click(window.find(".next")[0])
            assert len(window.find(".stones .stone")) == stones
        assert told().startswith("Ply 5 of 12: Black C1, taking 2 stones") and not window.find(".area")
        assert window.run("return document.documentElement.scrollWidth <= innerWidth") and window.log() == []
