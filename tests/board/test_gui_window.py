"""The window without a screen (SDL's dummy driver), driven by mouse and key events: what it shows and what it does."""

import os
import sys
import threading
import time
import types
from math import tanh

import pytest
from session_tools import Endless, Scripted, new_session

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
pygame = pytest.importorskip("pygame")

from Board.game_board import Board, Game  # noqa: E402
from Board.GUI_v1_4 import play_in_window  # noqa: E402
from Board.play.game_file import game_file  # noqa: E402
from Board.play.people import Rules  # noqa: E402
from Board.window.board_picture import (  # noqa: E402
    BLUE,
    CROSS,
    DARK_PENCIL,
    GREEN,
    PALE,
    PAPER,
    RED,
    TABLE,
    contrast,
    ink_on,
)  # fmt: skip
from Board.window.layout import lay_out  # noqa: E402
from Board.window.panel import second_column  # noqa: E402
from Board.window.scene import Overlay, button_rows  # noqa: E402
from Board.window.window import KEYS, Window  # noqa: E402
from common.player_faults import PlayerFault  # noqa: E402


@pytest.fixture
def open_window(tmp_path):
    """Return a function that opens a window on a session; both are closed at the end."""
    opened = []

    def open_window(session, **options):
        opened.append(Window(session, folder=tmp_path, **options))
        return opened[-1]

    yield open_window
    for window in opened:
        window.session.close()
        window.close()


def frames_until(window, condition=lambda: True, seconds=10):
    """Run frames until a condition holds, at least one; fail if it never does."""
    limit = time.monotonic() + seconds
    while True:
        assert window.run_frame()
        if condition():
            return
        assert time.monotonic() < limit, f"the window never got there; it says {texts(window)}"
        time.sleep(0.002)


def click(window, *where):
    """Press the mouse on a button (its name) or a point (h, w), and run a frame."""
    pixel = window.layout.buttons[where[0]].center if isinstance(where[0], str) else window.layout.centre_of(*where)
    pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=pixel))
    frames_until(window)


def press(window, *keys):
    for key in keys:
        pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=key, unicode="", mod=0))
        frames_until(window)


def scene(window):
    return window._last[0]


def texts(window):
    return f"{scene(window).message} / {scene(window).detail}"


def brightness(window, h, w):
    return sum(window.screen.get_at(window.layout.centre_of(h, w))[:3])


@pytest.mark.parametrize("colour", [RED, GREEN, BLUE])
def test_numbers_of_a_search_can_be_read_on_their_discs_and_coordinates_beside_the_board(colour):
    for strength in range(11):
        disc = [pale + (own - pale) * strength / 10 for pale, own in zip(PALE, colour, strict=True)]
        assert contrast(ink_on(disc), disc) > 3.9
    assert contrast(DARK_PENCIL, PAPER) > 4.5


def test_the_columns_of_the_help_do_not_touch(open_window):
    window = open_window(new_session(None, None))
    press(window, pygame.K_F1)
    rows, px = window.look.list_of, window.layout.px
    assert "".join(rows).isascii(), "pygame's own font has few other signs"
    beside = second_column(window._pen, window.layout, rows)
    assert min(beside - px(22) - window._pen.width(row.split("\t")[0], px(13.5)) for row in rows[1:]) >= px(12)


# ------------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize("size", [(3, 3), (5, 3), (4, 9), (15, 15), (19, 19)])
@pytest.mark.parametrize("window", [(600, 470), (1000, 700), (1920, 1200), (420, 330), (700, 1000), (420, 700)])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_every_point_and_button_lies_in_the_window_and_is_found_under_its_pixel(size, window, scale):
    layout = lay_out(window, *size, scale, is_cells=size == (3, 3))
    frame = pygame.Rect((0, 0), window)
    for h in range(size[1]):
        for w in range(size[0]):
            x, y = layout.centre_of(h, w)
            assert frame.collidepoint(x, y) and layout.button_at((x, y)) is None
            assert layout.point_at((x + layout.unit // 5, y - layout.unit // 5)) == (h, w)
    boxes, names = list(layout.buttons.values()), [name for row in button_rows() for name in row]
    assert set(layout.buttons) == set(names)
    for number, box in enumerate(boxes):
        assert frame.contains(box) and box.collidelist(boxes[:number]) == -1 and not box.colliderect(layout.players)
        assert layout.button_at(box.center) == names[number]
    assert layout.point_at((layout.board.left - 2, layout.board.top - 2)) is None
    assert layout.centre_of(1, 0)[1] < layout.centre_of(0, 0)[1], "h counts from the bottom"


def test_in_a_tall_window_the_panel_lies_below_the_board():
    layout = lay_out((420, 700), 11, 11, 1.0)
    assert layout.board.width > 250 and layout.panel.top >= layout.board.bottom and layout.bar.right < 420
    assert layout.players.top > layout.panel.top and layout.panel.bottom <= 700


def test_after_resizing_the_board_fills_the_new_window(open_window):
    session = new_session(None, None, size=(15, 15, 5))
    window = open_window(session)
    click(window, 14, 14)
    for size in ((1200, 820), (560, 420), (700, 900)):
        pygame.display.set_mode(size, pygame.RESIZABLE)
        frames_until(window)
        assert window.screen.get_size() == size == window.layout.size
        off = window.layout.unit // 4  # beside the mark of the last move, and beside the lines
        x, y = window.layout.centre_of(14, 14)
        stone, wood = window.screen.get_at((x + off, y + off)), window.screen.get_at((x - window.layout.unit + off, y + off))
        assert sum(stone[:3]) < 200 < 350 < sum(wood[:3])
        assert window.screen.get_at((2, size[1] - 2))[:3] == TABLE


@pytest.mark.parametrize("size", [(1, 1), (10, 10), (30, 900), (900, 30)])
def test_a_window_that_is_made_too_small_to_read_goes_on(open_window, size):
    window = open_window(new_session(None, None))
    pygame.display.set_mode(size, pygame.RESIZABLE)
    frames_until(window)
    assert window.layout.size == size
    press(window, pygame.K_F1)
    pygame.display.set_mode((600, 470), pygame.RESIZABLE)
    press(window, pygame.K_F1)
    click(window, 1, 1)
    assert window.session.board.states == {4: 1}


def test_stones_crosses_rings_and_the_last_move_are_drawn_on_their_points(open_window):
    window = open_window(new_session(None, None, size=(9, 9, 5)))
    for point in ((0, 0), (2, 4), (1, 2)):
        click(window, *point)
    pygame.event.post(pygame.event.Event(pygame.WINDOWLEAVE))
    assert brightness(window, 0, 0) < 200 and brightness(window, 2, 4) > 680
    assert window.screen.get_at(window.layout.centre_of(1, 2))[:3] == RED
    window = open_window(new_session(None, None))
    click(window, 0, 0)
    click(window, 2, 2)
    assert brightness(window, 0, 0) < 400 and brightness(window, 2, 2) > 700, "a cross has a middle, a ring has none"


def test_move_numbers_on_crosses_and_rings_leave_them_as_they_are(open_window):
    window = open_window(new_session(None, None))
    click(window, 0, 0)
    press(window, pygame.K_m)
    assert scene(window).numbers
    assert window.screen.get_at(window.layout.centre_of(0, 0))[:3] == CROSS, "the number stands beside the cross"


# ------------------------------------------------------------------------------------------------- games


def test_a_whole_game_is_clicked_and_the_score_is_kept_by_player(open_window):
    window = open_window(new_session(None, Scripted([3, 4, 0, 1, 2])))
    for w, stones in ((0, 2), (1, 4), (2, 5)):
        click(window, 0, w)
        frames_until(window, lambda n=stones: len(window.session.board.states) == n)
    frames_until(window)
    assert scene(window).message == "You win" and scene(window).won == ((0, 0), (0, 1), (0, 2))
    click(window, 2, 2)
    assert len(window.session.board.states) == 5 and "has ended" in scene(window).detail
    press(window, pygame.K_x)
    for w in (0, 1):
        frames_until(window, lambda: window.session.is_persons_turn)
        click(window, 2, w)
    frames_until(window, lambda: window.session.has_ended)
    frames_until(window)
    assert scene(window).message == "Bob wins" and [row.wins for row in scene(window).rows] == [1, 1]
    click(window, "reset")
    assert [row.wins for row in scene(window).rows] == [0, 0]


def test_while_a_player_thinks_a_move_is_taken_back_and_the_window_goes_on(open_window):
    player = Endless()
    window = open_window(new_session(None, player, size=(11, 11, 5)))
    click(window, 5, 5)
    frames_until(window, player.is_searching.is_set)
    click(window, 3, 3)
    assert window.session.live == 1 and "not your turn" in scene(window).detail
    assert scene(window).message == "Bob is thinking"
    press(window, pygame.K_z)
    assert window.session.live == 0 and scene(window).message == "Your turn"
    frames_until(window, lambda: not any(thread.name == "search" for thread in threading.enumerate()))


def test_a_player_that_dies_says_so_and_a_new_game_is_possible(open_window):
    window = open_window(new_session(None, Scripted([PlayerFault("exited with\nexit code 3"), 0])))
    click(window, 1, 1)
    frames_until(window, lambda: window.session.trouble is not None)
    frames_until(window)
    assert scene(window).is_alarming and "Bob cannot go on: exited with exit code 3" in scene(window).message
    click(window, 0, 0)
    assert "start a new game" in scene(window).detail
    press(window, pygame.K_n)
    click(window, 1, 1)
    frames_until(window, lambda: window.session.board.states == {4: 1, 0: 2})


def test_both_sides_swap(open_window):
    rules = Rules(may_swap=True)
    window = open_window(new_session(None, Scripted([1, Board.SWAP]), size=(15, 15, 5), rules=rules))
    for w, stones in ((0, 2), (2, 3)):
        click(window, 0, w)
        frames_until(window, lambda n=stones: len(window.session.board.states) == n)
    frames_until(window, lambda: window.session.is_persons_turn)
    frames_until(window)
    assert window.session.board.states == {0: 2, 1: 1, 2: 2} and "Bob swapped" in scene(window).detail
    window = open_window(new_session(None, Scripted([0, 2, 5]), size=(15, 15, 5), rules=rules, black=1))
    frames_until(window, lambda: window.session.is_persons_turn)
    press(window, pygame.K_w)
    assert "Only white may swap" in scene(window).detail
    click(window, 0, 1)
    frames_until(window, lambda: window.session.live == 3)
    assert dict(scene(window).buttons)["swap"].enabled
    click(window, "swap")
    frames_until(window, lambda: window.session.live == 5)
    assert window.session.board.states == {0: 2, 1: 1, 2: 2, 5: 1}


def test_a_game_is_saved_stepped_through_and_opened_again(open_window, tmp_path):
    window = open_window(new_session(None, None))
    for point in ((1, 1), (0, 0), (2, 2)):
        click(window, *point)
    press(window, pygame.K_s, pygame.K_c)
    assert len(list(tmp_path.glob("*.sgf"))) == len(list(tmp_path.glob("*.png"))) == 1
    press(window, pygame.K_LEFT, pygame.K_LEFT)
    assert len(scene(window).stones) == 1 and scene(window).message == "Move 1 of 3"
    click(window, 0, 1)
    assert window.session.live == 3 and "earlier move" in scene(window).detail
    press(window, pygame.K_RETURN)
    assert window.session.live == 1
    press(window, pygame.K_y, pygame.K_HOME, pygame.K_END, pygame.K_n)
    assert window.session.board.states == {}
    press(window, pygame.K_o)
    assert scene(window).list_of[0] == "Open a game"
    press(window, pygame.K_1)
    assert window.session.board.states == {4: 1, 0: 2, 8: 1} and "press P to play on" in scene(window).detail
    (tmp_path / "bad.sgf").write_text("nothing")
    pygame.event.post(pygame.event.Event(pygame.DROPFILE, file=str(tmp_path / "bad.sgf")))
    frames_until(window)
    assert "expected a game in SGF" in scene(window).detail and window.session.live == 3


def test_the_end_of_a_game_that_was_opened_says_that_it_does_not_count_in_the_score(open_window):
    session = new_session(None, None)
    session.load(game_file(session.game, [0, 3, 1, 4], "", "", ""))
    window = open_window(session)
    click(window, 0, 2)
    assert texts(window) == "Ann wins / Not counted in the score" and session.score == (0, 0, 0)
    press(window, pygame.K_n)
    for point in ((0, 0), (1, 0), (0, 1), (1, 1), (0, 2)):
        click(window, *point)
    assert scene(window).detail == "" and session.score == (1, 0, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_games_in_files_with_names_that_are_no_text_are_listed_and_opened(open_window, tmp_path):
    with open(os.path.join(os.fsencode(tmp_path), "围棋.sgf".encode("gbk")), "w") as file:
        file.write("(;SZ[3];B[aa])")
    window = open_window(new_session(None, None))
    press(window, pygame.K_o)
    assert len(scene(window).list_of) == 3 and scene(window).list_of[1].endswith(".sgf")
    press(window, pygame.K_1)
    assert window.session.board.states == {6: 1}


def test_every_key_of_the_help_does_something_at_any_time(open_window):
    player = Scripted(iter(range(9)))
    window = open_window(new_session(None, player))
    for key in [*KEYS, *reversed(KEYS), *KEYS]:
        press(window, key)
    press(window, pygame.K_ESCAPE, pygame.K_F1)
    assert scene(window).list_of[0] == "Keys"
    click(window, 1, 1)
    assert scene(window).list_of == (), "a click closes the list and plays nothing"


# ------------------------------------------------------------------------------------------------- searches


def node(visits=0, value=0.0, prior=0.2, children=None):
    return types.SimpleNamespace(_n_visits=visits, _Q=value, _P=prior, _children=children or {})


class Student(Scripted):
    """A player with a tree, as a student's."""

    def __init__(self):
        super().__init__([0, 1, 2])
        self.mcts = types.SimpleNamespace(_root=node(), _c_puct=5)

    def get_action(self, board, is_selfplay, print_probs_value):
        children = {0: node(60, 0.4, 0.5, {8: node(3)}), 5: node(30, -0.3, 0.3), 7: node(0, 0.0, 0.2)}
        self.mcts._root = node(90, 0.0, 1.0, children)
        return super().get_action(board, is_selfplay, print_probs_value)


class Reporting(Scripted):
    """A player without a tree that reports, as an engine does."""

    def report(self):
        return "depth 7 score -20 pv 2,0 1,2\x1b[2J", ((2, 0), (1, 2), (9, 9), (0, 0))


def test_what_an_engine_says_is_written_and_its_line_is_drawn(open_window):
    gate = threading.Event()
    window = open_window(new_session(None, Reporting([2, 3], gate)))
    press(window, pygame.K_v, pygame.K_l)
    click(window, 1, 1)
    frames_until(window, lambda: scene(window).line)
    assert scene(window).line == (((0, 2), 1), ((2, 1), 0)), "a line ends before the first point off the board"
    assert scene(window).caption.startswith("Bob says: depth 7 score -20 pv 2,0 1,2") and "\x1b" not in scene(window).caption
    assert scene(window).detail.endswith("depth 7 score -20")
    assert scene(window).value == pytest.approx(tanh(20 / 600)), "Bob is white and behind"
    box = window.layout.curve
    assert len({tuple(window.screen.get_at((x, box.y + 12))) for x in range(box.x + 12, box.right - 12)}) > 3, "above the curve"
    gate.set()
    frames_until(window, lambda: window.session.live == 2)
    assert not scene(window).line and scene(window).caption.startswith("Bob says: ")
    press(window, pygame.K_LEFT)
    assert scene(window).line
    press(window, pygame.K_END, pygame.K_h)
    frames_until(window, lambda: window.session.hint is not None)
    frames_until(window)
    assert scene(window).caption.startswith("Bob says: "), "whoever gave the hint has said it, and not the person to move"
    silent = open_window(new_session(None, Scripted([2])))
    press(silent, pygame.K_v)
    click(silent, 1, 1)
    frames_until(silent, lambda: silent.session.live == 2)
    assert "no search" in scene(silent).caption


def test_overlays_show_the_search_of_a_player_with_a_tree(open_window):
    window = open_window(new_session(None, Student()))
    click(window, "overlay")
    assert scene(window).caption == "no search tree to show yet"
    click(window, 1, 1)
    frames_until(window, lambda: window.session.live == 2)
    press(window, pygame.K_LEFT)
    shown = {}
    for overlay in (Overlay.VISITS, Overlay.PRIORS, Overlay.VALUES):
        assert window.look.overlay is overlay
        shown[overlay] = {mark.point: mark.text for mark in scene(window).marks}
        press(window, pygame.K_v)
    assert shown[Overlay.VISITS] == {(0, 0): "60", (1, 2): "30"}
    assert shown[Overlay.PRIORS] == {(0, 0): "50", (1, 2): "30", (2, 1): "20"}
    assert shown[Overlay.VALUES] == {(0, 0): "+40", (1, 2): "-30"}
    press(window, pygame.K_l)
    assert scene(window).line == (((0, 0), 1), ((2, 2), 0)) and scene(window).value == -0.4
    assert scene(window).curve == ((1, -0.4),), "the curve is for black, Q by white"


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_numbers_of_a_network_gone_wrong_are_shown_as_they_are(open_window, number):
    class Broken(Student):
        def get_action(self, board, is_selfplay, print_probs_value):
            answer = super().get_action(board, is_selfplay, print_probs_value)
            for child in self.mcts._root._children.values():
                child._Q = child._P = number
            return answer

    window = open_window(new_session(None, Broken()))
    click(window, 1, 1)
    frames_until(window, lambda: window.session.live == 2)
    for overlay in (Overlay.VISITS, Overlay.PRIORS, Overlay.VALUES):
        press(window, pygame.K_v)
        assert window.look.overlay is overlay
        assert len(scene(window).marks) >= 2 and (overlay is Overlay.VISITS or str(number) in scene(window).marks[0].text)
    assert scene(window).marks[0].tone == 0, "neither good nor bad"
    assert scene(window).value is None, "the bar shows no side as winning"


@pytest.mark.parametrize(("size", "is_written"), [((640, 520), False), ((860, 620), True)])
def test_numbers_of_a_search_are_left_out_where_they_cannot_be_read(open_window, size, is_written):
    window = open_window(new_session(None, Student(), size=(15, 15, 5)))
    pygame.display.set_mode(size, pygame.RESIZABLE)
    click(window, "overlay")
    click(window, 7, 7)
    frames_until(window, lambda: window.session.live == 2)
    assert [mark.text for mark in scene(window).marks] == ["60", "30"]
    x, y = window.layout.centre_of(0, 5)  # of the move with 30 visits
    near = [window.screen.get_at((x + right, y))[:3] for right in range(-4, 5)]
    assert (len(set(near)) > 1) == is_written and near[0] != TABLE


def test_the_panel_has_the_numbers_of_the_point_under_the_mouse(open_window, monkeypatch):
    window = open_window(new_session(None, Student(), size=(15, 15, 5)))
    pygame.display.set_mode((640, 520), pygame.RESIZABLE)
    monkeypatch.setattr(pygame.mouse, "get_focused", lambda: True)
    pointed = [0, 0]
    monkeypatch.setattr(pygame.mouse, "get_pos", lambda: window.layout.centre_of(*pointed))
    click(window, 7, 7)
    frames_until(window, lambda: window.session.live == 2)
    frames_until(window)
    assert scene(window).detail == "", "no overlay is on"
    press(window, pygame.K_v)
    for point, words in [
        ((0, 0), "0,0: 60 visits, prior 50 %, value +40"),
        ((0, 7), "0,7: 0 visits, prior 20 %, value -"),
        ((3, 3), ""),
    ]:
        pointed[:] = point
        frames_until(window)
        assert scene(window).detail == words
    box = window.layout.players
    middle = box.bottom + window.layout.px(19)
    assert len({tuple(window.screen.get_at((x, middle))) for x in range(box.x, box.right)}) > 3, "the caption has no card here"


def test_a_frame_in_which_nothing_has_changed_is_not_drawn(open_window):
    window = open_window(new_session(None, None))
    frames_until(window)
    drawn = window.drawn
    for _ in range(5):
        window._live = None
        window.draw()
    assert window.drawn == drawn


# ------------------------------------------------------------------------------------------------- ends and words


def test_closing_the_window_ends_the_search():
    class ClosesTheWindow(Endless):
        def get_action(self, board, is_selfplay, print_probs_value):
            pygame.event.post(pygame.event.Event(pygame.QUIT))
            return super().get_action(board, is_selfplay, print_probs_value)

    player = ClosesTheWindow()
    Game(Board(width=4, height=3, n_in_row=3)).start_play_with_UI(player, start_player=1)
    assert not pygame.display.get_init() and player.calls[-1] == "reset"
    assert not any(thread.name == "search" for thread in threading.enumerate())


def test_a_player_that_is_not_written_yet_ends_the_program_with_its_reminder():
    with pytest.raises(NotImplementedError, match="see the handout"):
        play_in_window(Board(width=3, height=3, n_in_row=3), Scripted([NotImplementedError("see the handout")]), 1)


def test_play_in_window_refuses_an_unknown_first_player():
    with pytest.raises(ValueError, match="start_player 0 or 1"):
        play_in_window(Board(width=3, height=3, n_in_row=3), Scripted([]), start_player=2)
