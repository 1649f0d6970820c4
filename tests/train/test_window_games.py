"""Whole games clicked in the window against each kind of player, as human_play.py makes them."""

import os
import threading
import time
from pathlib import Path

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
pygame = pytest.importorskip("pygame")

from arena.engine.engine_process import Limits  # noqa: E402
from Board.window.window import Window  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]


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


def frames_until(window, condition, seconds=60):
    limit = time.monotonic() + seconds
    while not condition():
        assert window.run_frame()
        assert window.session.trouble is None, window.session.trouble
        assert time.monotonic() < limit, "the window never got there"
        time.sleep(0.002)


def click(window, point):
    pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=window.layout.centre_of(*point)))
    assert window.run_frame()


@pytest.fixture
def sides(engines, pbrain):
    return {
        "alphazero": f"alphazero:{ROOT / 'model' / '3_3_3.model'}?playouts=20",
        "mcts": "mcts:playouts=20",
        "minimax": f"minimax:{engines / 'sample'}",
        "gomocup": f"gomocup:{pbrain}",
    }


@pytest.mark.parametrize("kind", ["alphazero", "mcts", "minimax", "gomocup"])
@pytest.mark.usefixtures("no_engine_left")
def test_a_game_is_clicked_to_its_end_and_stepped_through(window_for, sides, kind):
    window = window_for("--white", sides[kind])
    session, board = window.session, window.session.board
    # Rows from the middle of the board, each from left to right: somebody makes a row, or the board fills up.
    points = sorted(
        ((h, w) for h in range(board.height) for w in range(board.width)), key=lambda p: abs(p[0] - board.height // 2)
    )
    if board.width > 3:
        points.insert(0, (7, 7))  # black begins in the middle
    while not session.has_ended:
        frames_until(window, lambda: session.is_persons_turn or session.has_ended)
        if not session.has_ended:
            click(window, next(point for point in points if board.location_to_move(point) in board.availables))
    played = session.live
    for _ in range(played):
        window.do("back")
        assert window.run_frame()
    assert session.shown == 0 and sum(session.score) == 1
    if kind in ("alphazero", "mcts"):
        assert len(session.analyses) == played // 2, "what each search saw is kept for the overlays"
    window.do("new")
    frames_until(window, lambda: session.live == 0)
    session.close()


@pytest.mark.usefixtures("no_engine_left")
def test_a_move_is_taken_back_while_the_engine_thinks_and_the_engine_goes_on(window_for, engines):
    window = window_for("--white", f"minimax:{engines / 'reference'}")
    session = window.session
    session.participants[1].player.limits = Limits(move_s=2.0, told_move_s=0.4)
    click(window, (7, 7))
    frames_until(window, lambda: session.live == 2)
    first = next(move for move in (98, 97, 99) if move in session.board.availables)
    click(window, divmod(first, 15))
    frames_until(window, lambda: session.thinking_s is not None and session.thinking_s > 0.1)
    window.do("undo")
    assert session.live == 2 and session.is_persons_turn
    click(window, divmod(next(move for move in (126, 127, 128) if move in session.board.availables), 15))
    frames_until(window, lambda: session.live == 4)
    session.close()
    assert not any(thread.name == "search" for thread in threading.enumerate())
