"""`python -m arena view`: pages of games, clicked through in a real browser; games read from SGF; where a game was lost."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import browser
import pytest
from accessibility import needs_axe, serious_findings
from game_records import game_record
from hypothesis import given
from hypothesis import strategies as st

from arena import __main__ as arena
from arena.engine.specs import engine_at
from arena.match.records import Records
from arena.match.setup import MatchSetup
from arena.match.sgf import game_to_sgf, read_sgf
from arena.rules import SWAP, IllegalAction, Position, Termination
from arena.view.games import Loss, ending_of, shown_game, shown_sgf
from arena.view.losses import can_be_examined, find_loss, find_losses, needs_engine
from arena.view.page import games_of_file, render_page, write_page
from common.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
NO_BROWSER = pytest.mark.skipif(bool(browser.missing()), reason=browser.missing())
# White wins on the row y = 7 after a swap: black's and white's stones change colour at ply 4.
SWAPPED = ((7, 7), (8, 8), (7, 8), SWAP, (6, 6), (7, 9), (7, 6), (7, 10), (5, 5), (7, 11))
HOSTILE = ('</script><script>document.title = "taken"</script>', '"><img src=x onerror=alert(1)>\x1b[2J')


def lost_after_swap(index=0, **changes):
    times = {"move_s": (0.5,) * 10, "move_cpu_s": tuple(0.1 * ply for ply in range(10)), "withheld_s": (0.0,) * 10}
    game = replace(game_record(index, winner=1, **times), moves=SWAPPED, swapped=True, names=("alice", "bob"))
    return replace(game, **changes)


@pytest.fixture
def records(engines, tmp_path):
    """A file with a won game and two lost ones; one of them was lost by a fault, and the names are hostile."""
    setup = MatchSetup(tuple(engine_at(str(engines / "sample")) for _ in range(2)), 3, 1)
    file = tmp_path / "match.jsonl"
    fault = {"termination": Termination.CRASH, "faulty": 0, "winner": 1, "detail": f"exited, saying {HOSTILE[1]!r}"}
    kept = Records(file, setup)
    for game in (game_record(0), lost_after_swap(1), replace(game_record(2, **fault), names=HOSTILE)):
        kept.append(game)
    return file


# --------------------------------------------------------------------------------------------------- in a browser


@NO_BROWSER
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_is_clicked_through_without_an_error_or_a_request(records, tmp_path, width, capsys):
    page = tmp_path / "page.html"
    assert arena.main(["view", str(records), "--out", str(page)]) == 0
    assert "Game 1: White (bob) won with five or more in a row at ply 10." in capsys.readouterr().out
    with browser.browser() as window:
        window.view_as(width, 900)
        window.open(page.as_uri())

        def text(selector):
            return window.run(f"return document.querySelector('{selector}').textContent")

        def stones():
            return window.run("return [...document.querySelectorAll('.stones .stone')].map(s => s.classList[1]).join('')")

        def click(selector):
            window.click(window.find(selector)[0])

        assert text(".told") == "Ply 10 of 10: White 7 11, 0.90 s." and len(window.find(".five")) == 5
        for button, plies in ((".first", 0), (".next", 1), (".next", 2), (".last", 10), (".back", 9)):
            click(button)
            assert len(stones()) == max(0, plies - (plies > 3)), button
        click(".first")
        window.type(window.find(".next")[0], "\ue014" * 3)  # the right arrow
        assert stones() == "bwb"
        window.type(window.find(".next")[0], "\ue014")
        assert stones() == "wbw" and text(".told").startswith("Ply 4 of 10: White swaps")
        assert text(".command") == 'python human_play.py --player minimax --position "112 128 127 swap"'
        click(".next")
        assert text(".command").endswith(' swap 96" --start ai'), "the person plays the side to move"
        click(".last")
        assert window.run("return document.querySelector('.play-on').hidden"), "the game is over"
        for _ in range(6):
            click(".back")
        click(".numbers")
        assert text(".stones") == "123"
        click(".next-lost")
        assert text(".black") == HOSTILE[0] and "stopped running (crash)" in text(".ending")
        click(".next-lost")
        assert text(".black") == "alice"
        assert window.run("return document.documentElement.scrollWidth <= innerWidth && document.title == 'match.jsonl'")
        assert window.run("return performance.getEntriesByType('resource').length") == 0
        assert window.log() == []


@NO_BROWSER
def test_no_other_script_than_the_viewers_runs_and_without_it_the_last_position_is_there(tmp_path):
    page = tmp_path / "page.html"
    text = render_page([shown_game(lost_after_swap())], 0, "a game")
    page.write_text(text.replace('"use strict";', '"use strict"; document.title = "taken";'))
    with browser.browser() as window:
        window.open(page.as_uri())
        assert window.run("return document.title") == "a game"
        assert len(window.find(".stone")) == 9 and len(window.find(".five")) == 5
        assert not window.run("return [...document.querySelectorAll('.js')].some(e => e.offsetParent)")


@needs_axe
def test_the_page_has_no_serious_fault_of_accessibility(records, tmp_path):
    page = tmp_path / "page.html"
    assert arena.main(["view", str(records), "--out", str(page)]) == 0
    assert serious_findings(page, click=(".numbers", "summary", ".back")) == []


# ------------------------------------------------------------------------------------------- records, SGF, refusals


OTHER_ENDINGS = {"five", "draw", "undecided", "no_move", "score", "move_limit", "resigned"}  # the last four of other games


@pytest.mark.parametrize("termination", [t for t in Termination if t not in OTHER_ENDINGS])
def test_every_fault_is_a_sentence_that_names_who_what_and_the_referees_words(termination):
    game = lost_after_swap(winner=0, faulty=1, termination=termination, detail='answered "a b"')
    sentence = ending_of(game)
    assert sentence.startswith("Black (alice) won, because White (bob) ") and f"({termination.value})" in sentence
    assert sentence.endswith('The referee says: it answered "a b".')


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=12), st.booleans(), st.text(max_size=20))
def test_a_game_written_as_sgf_is_read_back_with_the_same_board(tmp_path_factory, points, swaps, name):
    position = Position(free_opening=True)
    for point in points:
        try:
            position.play(SWAP if swaps and position.ply == 4 else point)
        except IllegalAction:
            continue
        if position.is_over:
            break
    game = replace(
        game_record(0, winner=None, termination=Termination.DRAW), moves=tuple(position.actions), names=(name, "x]\\")
    )
    file = tmp_path_factory.mktemp("sgf") / "game.sgf"
    file.write_text(game_to_sgf(game), encoding="utf-8", errors="replace")
    (read,) = read_sgf(file)
    shown, recorded = shown_sgf(read, 0), shown_game(game)
    assert [step.code for step in shown.steps] == [step.code for step in recorded.steps]
    assert shown.board.stones == recorded.board.stones and shown.names[1] == "x]\\"


def test_of_a_divided_game_the_first_branch_is_read_and_a_collection_has_all_games(tmp_path):
    file = tmp_path / "games.sgf"
    file.write_text("exported by x\n(;SZ[9:7]AB[aa][ba];W[ai](;B[cc])(;B[dd];W[ee]))\n(;SZ[3];B[aa])".replace("[ai]", "[ag]"))
    first, second = read_sgf(file)
    assert (first.width, first.height, first.setup) == (9, 7, (("b", (0, 6)), ("b", (1, 6))))
    assert first.moves == (("w", (0, 0)), ("b", (2, 4))) and second.moves == (("b", (0, 2)),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it holds no game"),
        ("(;SZ[99])", "must be from 1 to 26"),
        ("(;B[zz])", "is not a point of the 15x15 board"),
        ("(;B[aa];W[aa])", "a stone lies at 0 14 already"),
        ("(;B[aa];AB[bb])", "sets up stones in the middle"),
        ("(;B[aa]", "does not end"),
        ("(;B{aa})", "expected SGF at character"),
        ("(;SZ[3];B[aa];W[ab];B[ba];W[bb];B[ca];W[cc])", "game 0 to end with 3 or more in a row at ply 5; it has more moves"),
    ],
)
def test_a_file_that_is_no_game_gets_one_sentence(tmp_path, capsys, text, words):
    file = tmp_path / "game.sgf"
    file.write_text(text)
    assert arena.main(["view", str(file), "--out", str(tmp_path / "page.html")]) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1 and not (tmp_path / "page.html").exists()


def test_a_long_comment_takes_little_memory():
    lines = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (300 << 20, 300 << 20)); from common.sgf import main_lines; "
    )
    lines += 'print([len(node["C"][0]) for node in next(main_lines("(;C[" + "a" * 4_000_000 + "])"))])'
    done = subprocess.run([sys.executable, "-c", lines], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "[4000000]\n"), done.stderr


def test_a_page_that_may_not_be_written_is_refused_before_any_engine_looks(records, tmp_path, monkeypatch):
    monkeypatch.setattr("arena.view.page.find_losses", None)
    other = tmp_path / "notes.html"
    other.write_text("my notes")
    for out, words in ((other, "stays as it is"), (tmp_path / "none" / "page.html", "expected a folder")):
        with pytest.raises(UsageError, match=words):
            write_page(records, None, 0, None, out, print)


def test_a_game_of_four_in_a_row_on_the_courses_board_is_not_judged_by_an_engine_for_five(tmp_path):
    file = tmp_path / "four.sgf"
    file.write_text("(;SZ[15]RU[4 in a row];B[aa];W[ab];B[ba];W[bb];B[ca];W[cb];B[da])")
    (game,) = games_of_file(file, 0)
    assert game.line and not needs_engine(game) and not can_be_examined(game)


def test_a_missing_game_and_a_page_that_is_none_of_ours_are_refused(records, tmp_path, capsys):
    other = tmp_path / "notes.html"
    other.write_text("my notes")
    assert arena.main(["view", str(records), "9", "--out", str(tmp_path / "page.html")]) == 2
    assert arena.main(["view", str(records), "--out", str(other)]) == 2
    said = capsys.readouterr().err
    assert "one of the 3 games" in said and "stays as it is" in said and other.read_text() == "my notes"
    for _ in range(2):
        assert arena.main(["view", str(records), "0", "--out", str(tmp_path / "page.html")]) == 0
    assert "<option selected" in (tmp_path / "page.html").read_text()


# Black plays elsewhere while white builds an open four.
NO_DEFENCE = ((7, 7), (4, 10), (0, 0), (5, 10), (0, 2), (6, 10), (14, 0), (7, 10), (14, 14), (8, 10))


@pytest.fixture
def brief(monkeypatch):
    """Give an engine that looks for the losing move a fifth of a second per position: an open four is seen at once."""
    monkeypatch.setattr("arena.view.losses.MOVE_S", 0.2)


@pytest.mark.parametrize("name", ["reference", "baseline"])
def test_an_engine_says_where_a_game_was_lost(engines, brief, name):
    game = shown_game(lost_after_swap(moves=NO_DEFENCE, swapped=False))
    loss = find_loss(game, engine_at(str(engines / name)))
    assert loss is not None and loss.ply in (3, 5, 7) and loss.better not in (None, NO_DEFENCE[loss.ply - 1])
    assert f"The engine {name} sees a forced win for white after ply {loss.ply}, black's" in loss.sentence
    assert find_loss(game, engine_at(str(engines / "sample"))) is None


def test_every_lost_game_of_a_file_is_examined(engines, brief, tmp_path, capsys, monkeypatch):
    setup = MatchSetup(tuple(engine_at(str(engines / "sample")) for _ in range(2)), 3, 1)
    kept, page = Records(tmp_path / "match.jsonl", setup), tmp_path / "page.html"
    for game in (game_record(0), *(lost_after_swap(number, moves=NO_DEFENCE, swapped=False) for number in (1, 2))):
        kept.append(game)
    call = ["view", str(kept.path), "--out", str(page)]
    assert arena.main([*call, "--engine", str(engines / "baseline")]) == 0
    said = capsys.readouterr()
    assert "baseline is looking for the losing move of Game 2 (2 of 2)" in said.err and "The engine baseline sees" in said.out
    assert page.read_text().count('data-loss="The engine baseline sees a forced win') == 2
    monkeypatch.chdir(tmp_path)
    assert arena.main(call) == 0
    assert "build the engine build/engines/baseline" in capsys.readouterr().err and "sees a forced win" not in page.read_text()


# Black takes the centre and white a side, which loses.
TIC_TAC_TOE = "(;SZ[3];B[bb];W[bc];B[ac];W[ca];B[aa];W[ab];B[cc])"


def test_a_lost_game_on_a_small_board_is_judged_by_every_reply_without_an_engine(tmp_path, capsys):
    file, page = tmp_path / "small.sgf", tmp_path / "page.html"
    file.write_text(TIC_TAC_TOE)
    assert arena.main(["view", str(file), "--out", str(page)]) == 0
    said = capsys.readouterr()
    assert "finds a forced win for black after ply 2, white's 1 0. It would have played 0 0." in said.out
    assert "Game 0: Black won with 3 or more in a row at ply 7." in said.out
    assert "build the engine" not in said.err and 'data-loss="A search of all replies finds' in page.read_text()


def played(folder, text):
    """The game of an SGF text, as the viewer shows it."""
    file = folder / "played.sgf"
    file.write_text(text)
    return shown_sgf(read_sgf(file)[0], 0)


def test_a_game_is_played_on_only_if_its_colours_take_turns(tmp_path):
    for moves in ("B[aa];W[bb];B[cc]", "B[aa];W[bb];B[cc];C[White swaps]AB[bb]AW[aa][cc]PL[B];B[dd];W[ee]", ""):
        assert played(tmp_path, f"(;SZ[9];{moves})").play_on == "python human_play.py --player mcts --board 9x9x5"
    for moves in ("W[ee];B[aa]", "B[aa];B[bb]", "B[aa];W[bb];W[cc]", "B[aa];C[White swaps]AW[aa]PL[B];B[bb]"):
        assert not played(tmp_path, f"(;SZ[9];{moves})").play_on


def test_on_a_larger_board_the_end_of_a_game_is_judged_if_few_points_are_empty(tmp_path):
    """On 4x4 white does not see black's third stone of the lowest row; on 11x11 there is too much to search."""
    game = played(tmp_path, "(;SZ[4];B[ad];W[bc];B[bd];W[cc];B[ac];W[bb];B[cd];W[cb];B[dd])")
    assert find_loss(game, None) == Loss(
        8, "A search of all replies finds a forced win for black after ply 8, white's 2 2. It would have played 3 0.", (3, 0)
    )
    four = "(;SZ[6]RU[4 in a row];B[aa];W[ab];B[ba];W[bb];B[ca];W[cb];B[da])"
    assert played(tmp_path, four).line and not played(tmp_path, four.replace("4 in a row", "")).line
    game = played(tmp_path, "(;SZ[11];B[aa];W[ab];B[ba];W[bb];B[ca];W[cb];B[da];W[db];B[ea])")
    assert game.line and find_loss(game, None) is None


def test_ctrl_c_gets_through_and_time_is_limited_for_all_games_together(tmp_path):
    games = [played(tmp_path, TIC_TAC_TOE)] * 3
    find_losses(games, [0, 1, 2], None, lambda said: None, most_s=0.0)
    assert [game.loss for game in games] == [None] * 3

    def interrupted(said):
        if "2 of 3" in said:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        find_losses(games, [0, 1, 2], None, interrupted)
    assert [game.loss is not None for game in games] == [True, False, False]


def test_ctrl_c_leaves_a_page_that_says_where_the_games_before_were_lost(engines, tmp_path):
    setup = MatchSetup(tuple(engine_at(str(engines / "sample")) for _ in range(2)), 2, 1)
    kept, page, told = Records(tmp_path / "match.jsonl", setup), tmp_path / "page.html", []
    for number in range(2):
        kept.append(lost_after_swap(number, moves=NO_DEFENCE, swapped=False))

    def interrupted(said):
        told.append(said)
        if "2 of 2" in said:
            raise KeyboardInterrupt

    write_page(kept.path, None, 0, engine_at(str(engines / "baseline")), page, interrupted)
    assert told[-1].startswith("Stopped;") and page.read_text().count('data-loss="The engine baseline') == 1


def test_a_gap_between_recorded_and_known_engines_is_said(records, tmp_path):
    with pytest.raises(UsageError, match="an engine at nowhere"):
        engine_at("nowhere")
    assert arena.main(["view", str(records), "--engine", "nowhere", "--out", str(tmp_path / "page.html")]) == 2
