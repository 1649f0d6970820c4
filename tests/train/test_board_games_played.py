"""NoGo and Go as human_play.py plays them: clicked in the window and typed in the terminal, against people and players."""

import os
import time

import pytest
from gnugo import GNUGO, needs_gnugo

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
pygame = pytest.importorskip("pygame")

from Board.window.window import Window  # noqa: E402
from games.go.rules import GoRules  # noqa: E402

GO = ("--game", "go", "--board", "5x5")
PEOPLE = ("--black", "human", "--white", "human")
# White captures a1, and black builds a wall on column c.
MOVES = ["a1", "a2", "c3", "b1", "c2", "d1", "c1", "d2", "c4", "d3", "c5", "d4", "b4", "d5", "b3", "e1", "a3", "pass", "pass"]


def position_after(moves):
    rules = GoRules(5, 5, 7.5)
    position = rules.position()
    for move in moves:
        position.do_move(rules.action_of(move))
    return rules, position


@pytest.fixture
def window_for(run_file, tmp_path):
    """Return a function that opens the window for a command line of human_play.py."""
    program, opened = run_file("human_play.py"), []

    def open_window(*arguments):
        options = program["parse"]([*map(str, arguments), "--language", "en"])
        opened.append(Window(program["make_session"](options, "en"), folder=tmp_path))
        return opened[-1]

    yield open_window
    for window in opened:
        window.session.close()
        window.close()


def click(window, move):
    """Click a point by its name, or the Pass button."""
    layout = window.layout
    if move == "pass":
        pixel = layout.buttons["pass"].center
    else:
        pixel = layout.centre_of(*divmod(window.session.game.action_of(move), layout.columns))
    pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=pixel))
    assert window.run_frame()


def press(window, key):
    pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode="", mod=0))
    assert window.run_frame()


def frames_until(window, condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        assert window.run_frame()
        assert window.session.trouble is None, window.session.trouble
        assert time.monotonic() < limit, "the window never got there"
        time.sleep(0.002)


def scene(window):
    return window._last[0]


def test_a_game_of_go_is_clicked_to_its_score_saved_and_opened_again(window_for, tmp_path):
    window = window_for(*GO, *PEOPLE)
    session = window.session
    assert pygame.display.get_caption()[0] == "Go" and "swap" not in window.layout.buttons
    for move in MOVES[:-1]:
        click(window, move)
    assert scene(window).detail == "Player 2 passes" and scene(window).territory == ()
    press(window, pygame.K_p)
    rules, position = position_after(MOVES)
    assert session.has_ended and session.board.states == position.states and session.board.score() == position.score()
    assert [row.captured for row in scene(window).rows] == ["captured 0", "captured 1"]
    owned = {side: {divmod(point, 5) for point in rules.grid.moves(area & ~position.stones(side + 1))}
             for side, area in enumerate(position.areas())}  # fmt: skip
    assert {side: {point for point, owner in scene(window).territory if owner == side} for side in (0, 1)} == owned
    black, white = (area.bit_count() for area in position.areas())
    assert f"Black {black}, White {white} + komi 7.5 = {white + 7.5:g}: " in scene(window).detail
    centre = {side: window.layout.centre_of(*next(iter(points))) for side, points in owned.items() if points}
    for side, pixel in centre.items():
        assert (sum(window.screen.get_at(pixel)[:3]) > 384) == (side == 1), "squares have the colour of their side"
    window.do("numbers")
    assert window.run_frame() and max(scene(window).numbers) == 17 and len(scene(window).numbers) == len(position.states)
    window.do("save")
    (saved,) = tmp_path.glob("go-*.sgf")
    text = saved.read_text()
    winner = "B" if position.score() > 0 else "W"
    assert "KM[7.5]" in text and f"RE[{winner}+{abs(position.score()):g}]" in text and text.rstrip().endswith(";B[])")
    window.do("new")
    window._open_file(saved)
    assert window.run_frame() and session.live == len(MOVES) and session.board.states == position.states
    window.do("shot")
    assert list(tmp_path.glob("go-*.png"))


def test_refusals_in_the_window_say_why(window_for):
    window = window_for(*GO, *PEOPLE)
    for move in ["a1", "d1", "b2", "c2", "e5", "b1", "c1"]:
        click(window, move)
    click(window, "b1")
    assert "b1 would retake the ko at once" in scene(window).detail
    click(window, "c1")
    assert scene(window).detail == "The point c1 is taken"
    window = window_for("--game", "nogo", "--board", "5x5", *PEOPLE)
    assert not {"swap", "pass"} & set(window.layout.buttons)
    for move in ("b1", "a1", "a2"):
        click(window, move)
    assert scene(window).detail == "a2 would capture, which NoGo forbids"
    press(window, pygame.K_p)
    assert window.session.paused, "P pauses a game without a pass"


@pytest.mark.parametrize("game", ["nogo", "go"])
def test_mcts_plays_and_a_move_is_taken_back_while_it_thinks(window_for, game):
    window = window_for("--game", game, "--board", "5x5", "--white", "mcts:playouts=1000000")
    session = window.session
    click(window, "c3")
    frames_until(window, lambda: session.thinking_s is not None and session.thinking_s > 0.2)
    window.do("undo")
    assert session.live == 0 and session.is_persons_turn
    session.participants[1].player.mcts._n_playout = 10
    click(window, "b2")
    frames_until(window, lambda: session.live == 2)
    window.do("hint")
    frames_until(window, lambda: session.hint is not None)
    assert session.hint in session.board.availables
    window.do("overlay")
    assert window.run_frame()


def test_a_whole_game_of_nogo_against_mcts(window_for):
    window = window_for("--game", "nogo", "--board", "5x5", "--white", "mcts:playouts=10")
    session = window.session
    while not session.has_ended:
        frames_until(window, lambda: session.is_persons_turn or session.has_ended)
        if not session.has_ended:
            click(window, session.game.action_name(session.board.availables[0]))
    assert window.run_frame()
    loser = "Black" if session.board.game_end()[1] == 2 else "White"
    assert scene(window).detail == f"{loser} has no legal move left and loses" and sum(session.score) == 1


# ----------------------------------------------------------------------------------------------------- terminal


def test_a_game_of_go_is_typed_to_its_score(call, tmp_path):
    lines = "".join(f"{move}\n" for move in [*MOVES[:3], "c3", "zz", "s", "?", *MOVES[3:-1], "w", MOVES[-1]])
    code, out, err = call("human_play.py", "--terminal", "--language", "en", *GO, *PEOPLE, stdin=lines)
    assert (code, err) == (0, "")
    _, position = position_after(MOVES)
    black, white = (area.bit_count() for area in position.areas())
    winner, name = ("Black", "Player 1") if position.score() > 0 else ("White", "Player 2")
    *_, score, end = out.splitlines()
    assert score == (f"Black {black}, White {white} + komi 7.5 = {white + 7.5:g}: {winner} wins by {abs(position.score()):g}")
    assert end == f"Game end. {name} wins"
    assert "The point c3 is taken" in out and "There is no swap in this game" in out and "pass passes" in out
    assert "expected an empty point such as \"c3\", or ? for help; got 'zz'" in out
    assert "Captured: by Black 0, by White 1" in out and " x " in out and " o " in out
    (saved,) = (tmp_path / "saved_games").glob("go-*.sgf")
    assert saved.read_text().count(";") == len(MOVES)
    code, out, _ = call("human_play.py", "--terminal", *GO, *PEOPLE, "--language", "en", "--open", saved, stdin="pass\n")
    assert code == 0 and out.splitlines()[-2:] == [score, end]
    for option, other, wanted in (("--board", "4x4", "5x5"), ("--komi", "3.5", "7.5")):
        code, _, err = call("human_play.py", "--terminal", "--language", "en", *GO, option, other, *PEOPLE, "--open", saved)
        assert code == 2 and err.endswith(f"to open it, give {option} {wanted}\n")


def test_nogo_is_typed_against_mcts_and_has_no_pass(call):
    code, out, err = call(
        "human_play.py", "--terminal", "--language", "en", "--game", "nogo", "--board", "5x5", "--playouts", 5,
        stdin="pass\nc3\nu\nc3\nq\n",
    )  # fmt: skip
    assert (code, err) == (0, "") and "There is no pass in this game" in out and "MCTS 5 plays" in out


@needs_gnugo
def test_gnu_go_plays_passes_and_gives_hints(call, tmp_path):
    side = f"gtp:{GNUGO} --mode gtp --level 1"
    code, out, err = call(
        "human_play.py", "--terminal", "--language", "en", *GO, "--white", side, stdin="c3\ni\nu\nc3\nw\n" + "pass\n" * 5
    )
    assert (code, err) == (0, "") and "Hint: " in out and "gnugo plays " in out
    assert "Game end. " in out
    (saved,) = (tmp_path / "saved_games").glob("go-*.sgf")
    assert ";W[" in saved.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--game", "go", "--board", "5x5x5"), "expected a square board such as 9x9; got '5x5x5'"),
        (("--game", "go", "--board", "40x40"), "expected a board of 2x2 to 19x19"),
        (("--game", "go", "--komi", "nan"), "expected a komi such as 7.5 for Go"),
        (("--game", "nogo", "--komi", "7.5"), "expected --komi only with --game go"),
        (("--game", "go", "--white", "minimax:x"), "expected a player of go such as"),
        (("--game", "go", "--white", "nogo:uct"), "expected a player of go; nogo:uct plays only NoGo"),
        (("--game", "go", "--white", "gtp:no-such-program"), "there is no such program"),
        (("--game", "nogo", "--white", "alphazero:no.model"), "expected"),
        (("--game", "go", "--position", "81 82"), "expected --position as moves from 0 to 81"),
    ],
)
def test_what_cannot_be_played_gets_one_sentence(refusal, arguments, words):
    assert words in refusal("human_play.py", "--terminal", "--language", "en", *arguments)


def test_a_kit_without_games_gets_one_sentence(refusal, workspace, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "games", None)
    assert "expected the folder games/ for --game go" in refusal("human_play.py", "--terminal", "--game", "go")


def test_a_network_of_a_run_plays(call, tmp_path):
    import torch

    from games.nogo.rules import NoGoRules
    from training.inference.networks import GameModel

    torch.save(GameModel(NoGoRules(5, 5), 0, 0).state_dict(), tmp_path / "net.pt")
    side = f"gumbel:{tmp_path / 'net.pt'}?playouts=8"
    code, out, err = call(
        "human_play.py", "--terminal", "--language", "en", "--game", "nogo", "--board", "5x5", "--white", side, stdin="c3\nq\n"
    )
    assert code == 0 and err.startswith("gumbel net: the network is computed by ") and "gumbel net plays " in out
