"""The window without a screen (SDL's dummy driver): what it draws, what clicks do, and how it works while the AI searches."""

import os
import subprocess
import sys
import threading
import time

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
pygame = pytest.importorskip("pygame")

from Board.game_board import Board, Game  # noqa: E402
from Board.GUI_v1_4 import BLACK, BUTTONS, GUI, MARK, WHITE, WOOD, Match, View, play_in_window, run_frame  # noqa: E402


class ScriptedAI:
    """A player that makes given moves; if it has a `gate`, it waits until the gate is open."""

    def __init__(self, moves, gate=None):
        self.moves = iter(moves)
        self.gate = gate
        self.calls = []

    def set_player_ind(self, p):
        self.player = p

    def reset_player(self):
        self.calls.append("reset")

    def get_action(self, board, is_selfplay, print_probs_value):
        self.calls.append(dict(board.states))
        if self.gate is not None:
            assert self.gate.wait(10)
        return next(self.moves), None


@pytest.fixture
def window():
    """Return a function that opens a window with the given columns and rows."""
    opened = []

    def open_window(width, height):
        opened.append(GUI((width, height)))
        return opened[-1]

    yield open_window
    for gui in opened:
        gui.close()


def new_match(ai, width=3, height=3, start_player=0):
    return Match(Board(width=width, height=height, n_in_row=3), ai, start_player)


def click(pixel):
    pygame.event.post(pygame.event.Event(pygame.MOUSEBUTTONDOWN, button=1, pos=pixel))


def frames_until(gui, match, condition):
    """Run frames until a condition holds; fail if it never does."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "the window never got there"
        assert run_frame(gui, match)
        time.sleep(0.002)


@pytest.mark.parametrize("size", [(1, 1), (3, 3), (5, 3), (4, 9), (15, 15), (25, 19)])
def test_the_pixel_of_a_point_maps_back_to_the_point(window, size):
    gui = window(*size)
    for h in range(size[1]):
        for w in range(size[0]):
            x, y = gui.centre_of(h, w)
            assert gui.screen.get_rect().collidepoint(x, y) and gui.button_at((x, y)) is None
            assert gui.point_at((x + 5, y - 5)) == (h, w)


def test_pixels_beside_the_board_map_to_no_point(window):
    gui = window(5, 3)
    (left, low), (right, high) = gui.centre_of(0, 0), gui.centre_of(2, 4)
    for pixel in ((left - gui.unit, low), (left, low + gui.unit), (right + gui.unit, high), (right, high - gui.unit)):
        assert gui.point_at(pixel) is None


def test_stones_are_drawn_on_their_points_and_the_last_is_marked(window):
    gui = window(5, 3)
    gui.draw(View(stones={(0, 0): 0, (2, 4): 1, (1, 2): 0}, last=(1, 2)))
    assert gui.screen.get_at(gui.centre_of(0, 0))[:3] == BLACK
    assert gui.screen.get_at(gui.centre_of(2, 4))[:3] == WHITE
    assert gui.screen.get_at(gui.centre_of(1, 2))[:3] == MARK
    assert gui.centre_of(2, 4)[1] < gui.centre_of(0, 4)[1], "h counts from the bottom"


def test_after_resizing_every_point_and_button_lies_in_the_window(window):
    gui = window(15, 15)
    for size in ((1200, 820), (560, 420), (700, 900)):
        gui.screen = pygame.display.set_mode(size, pygame.RESIZABLE)
        gui.draw(View(stones={(14, 14): 0, (0, 0): 1}))
        frame = gui.screen.get_rect()
        assert all(frame.contains(box) and not box.collidepoint(gui.centre_of(7, 14)) for box in gui.buttons.values())
        for point, colour in (((14, 14), BLACK), ((0, 0), WHITE)):
            assert gui.point_at(gui.centre_of(*point)) == point and gui.screen.get_at(gui.centre_of(*point))[:3] == colour


def test_the_stones_that_won_are_named_whatever_their_direction():
    for moves, line in (
        ([0, 3, 1, 4, 2], ((0, 0), (0, 1), (0, 2))),
        ([1, 0, 4, 2, 7], ((0, 1), (1, 1), (2, 1))),
        ([0, 1, 4, 2, 8], ((0, 0), (1, 1), (2, 2))),
        ([2, 0, 4, 1, 6], ((0, 2), (1, 1), (2, 0))),
        ([0, 4, 2, 1, 7, 3, 5, 8, 6], ()),
    ):
        match = new_match(ScriptedAI([]))
        for move in moves:
            match.board.do_move(move)
        assert match.board.game_end()[0] and match.view().line == line and match.view().turn == ""


def test_only_an_empty_point_where_the_human_may_play_shows_a_stone_under_the_mouse(window):
    gui, match = window(3, 3), new_match(ScriptedAI([]))
    assert match.view((1, 1)).pointed == (1, 1) and match.view(None).pointed is None
    gui.draw(match.view((2, 2)))
    beside = gui.centre_of(2, 2)[0] + gui.unit // 5, gui.centre_of(2, 2)[1] + gui.unit // 5
    assert gui.screen.get_at(beside)[:3] not in (WOOD, BLACK)
    match.board.do_move(4)
    assert match.view((0, 0)).pointed is None, "the AI is to move"
    match.board.do_move(0)
    assert match.view((1, 1)).pointed is None, "the point is taken"


def test_a_click_places_a_stone_and_the_ai_answers(window):
    gui, match = window(3, 3), new_match(ScriptedAI([0]))
    click(gui.centre_of(1, 1))
    frames_until(gui, match, lambda: len(match.board.states) == 2)
    assert match.board.states == {4: 1, 0: 2} and match.view().message == "Your turn"


def test_while_the_ai_thinks_the_window_responds_and_ignores_clicks_on_the_board(window):
    gate = threading.Event()
    gui, match = window(3, 3), new_match(ScriptedAI([0], gate), start_player=1)
    for _ in range(5):
        click(gui.centre_of(1, 1))
        assert run_frame(gui, match)
    assert match.board.states == {} and match.view().message == "The AI is thinking"
    gate.set()
    frames_until(gui, match, lambda: match.board.states == {0: 1})


def test_an_answer_to_a_game_that_was_restarted_is_dropped(window):
    gate = threading.Event()
    ai = ScriptedAI([8, 5], gate)
    gui, match = window(3, 3), new_match(ai)
    click(gui.centre_of(0, 0))
    run_frame(gui, match)
    click(gui.buttons["Restart"].center)
    run_frame(gui, match)
    assert match.board.states == {}
    click(gui.centre_of(1, 1))
    run_frame(gui, match)
    gate.set()
    frames_until(gui, match, lambda: len(match.board.states) == 2)
    assert match.board.states == {4: 1, 5: 2}
    assert ai.calls == ["reset", {0: 1}, "reset", {4: 1}], "an AI forgets the old game before the new one"


def test_the_ai_is_reset_once_for_each_game(window):
    ai = ScriptedAI([3, 4])
    gui, match = window(3, 3), new_match(ai)
    for w, stones in ((0, 2), (1, 4)):
        click(gui.centre_of(0, w))
        frames_until(gui, match, lambda n=stones: len(match.board.states) == n)
    assert ai.calls.count("reset") == 1


def test_the_score_counts_by_player_and_can_be_reset(window):
    gui, match = window(3, 3), new_match(ScriptedAI([3, 4]))
    for w, stones in ((0, 2), (1, 4), (2, 5)):
        click(gui.centre_of(0, w))
        frames_until(gui, match, lambda n=stones: len(match.board.states) == n)
    assert match.view().message == "You win" and match.view().score == (1, 0, 0)
    click(gui.centre_of(2, 2))
    run_frame(gui, match)
    assert len(match.board.states) == 5, "nobody plays on after the end"
    click(gui.buttons["Reset score"].center)
    run_frame(gui, match)
    assert match.view().score == (0, 0, 0) and match.view().message == "You win"


def test_after_switching_sides_the_ai_moves_first_and_gets_the_credit_for_its_win(window):
    gui, match = window(3, 3), new_match(ScriptedAI([0, 1, 2]))
    click(gui.buttons["Switch sides"].center)
    frames_until(gui, match, lambda: len(match.board.states) == 1)
    assert match.board.states == {0: 1} and not match.view().human_is_black
    for w, stones in ((0, 3), (1, 5)):
        click(gui.centre_of(1, w))
        frames_until(gui, match, lambda n=stones: len(match.board.states) == n)
    assert match.view().message == "The AI wins" and match.view().score == (0, 1, 0)


@pytest.mark.parametrize("answer", [4, 9, 0.5, None])
def test_an_illegal_move_is_reported_in_one_sentence(window, answer):
    gui, match = window(3, 3), new_match(ScriptedAI([answer]))
    click(gui.centre_of(1, 1))
    with pytest.raises(RuntimeError, match="the AI answered with an illegal move: expected") as caught:
        frames_until(gui, match, lambda: False)
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_failure_of_the_ai_is_reported_with_its_cause(window):
    gui, match = window(3, 3), new_match(ScriptedAI([]), start_player=1)
    with pytest.raises(RuntimeError, match="the AI failed: StopIteration") as caught:
        frames_until(gui, match, lambda: False)
    assert isinstance(caught.value.__cause__, StopIteration)


def test_closing_the_window_ends_the_game_even_while_the_ai_thinks():
    gate = threading.Event()

    class ClosesTheWindow(ScriptedAI):
        def get_action(self, board, is_selfplay, print_probs_value):
            pygame.event.post(pygame.event.Event(pygame.QUIT))
            return super().get_action(board, is_selfplay, print_probs_value)

    Game(Board(width=4, height=3, n_in_row=3)).start_play_with_UI(ClosesTheWindow([0], gate), start_player=1)
    assert not pygame.display.get_init()
    gate.set()


def test_the_buttons_have_their_names_and_do_not_overlap(window):
    gui = window(3, 3)
    boxes = [gui.buttons[name] for name in BUTTONS]
    assert all(gui.button_at(box.center) == name for name, box in zip(BUTTONS, boxes, strict=True))
    assert all(box.collidelist(boxes[:i]) == -1 for i, box in enumerate(boxes))
    assert all(gui.screen.get_rect().contains(box) for box in boxes)


def test_one_number_makes_a_square_window():
    gui = GUI(7)
    assert (gui.width, gui.height) == (7, 7)
    gui.close()


def test_a_missing_screen_is_reported():
    code = (
        "from Board.game_board import Board, Game\n"
        "try: Game(Board(width=3, height=3, n_in_row=3)).start_play_with_UI(None)\n"
        "except RuntimeError as error: print(error)"
    )
    environment = {**os.environ, "SDL_VIDEODRIVER": "no-such-screen"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("expected a screen to open a window on"), done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there always is a screen")
def test_a_missing_screen_is_reported_where_sdl_would_draw_off_screen(tmp_path):
    code = "from Board.GUI_v1_4 import GUI\ntry: GUI(3)\nexcept RuntimeError as error: print(error)"
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")}
    environment["XDG_RUNTIME_DIR"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("expected a screen to open a window on"), done.stderr


def test_play_in_window_refuses_an_unknown_first_player():
    with pytest.raises(ValueError, match="start_player 0 or 1"):
        play_in_window(Board(width=3, height=3, n_in_row=3), ScriptedAI([]), start_player=2)
