"""human_play.py on a real X server, driven by a real mouse and real keys; what it shows is read from the screen's pixels."""

import signal
from itertools import product

import pytest
from screen import needs_a_screen, screen, shown, wait_until

pygame = pytest.importorskip("pygame")

from Board.play.game_file import read_game  # noqa: E402
from Board.window.layout import lay_out  # noqa: E402
from games.for_people import game_for_people  # noqa: E402

pytestmark = needs_a_screen
POINTS = list(product(range(3), repeat=2))
ROWS = [[(a, b) for b in range(3)] for a in range(3)]
LINES = [*ROWS, *map(list, zip(*ROWS, strict=True)), [(0, 0), (1, 1), (2, 2)], [(0, 2), (1, 1), (2, 0)]]


@pytest.fixture(scope="module")
def display(tmp_path_factory):
    with screen(tmp_path_factory.mktemp("screen")) as opened:
        yield opened


class OnScreen:
    """The window of human_play.py as a person sees it: tic-tac-toe, or stones on the crossings of a square board."""

    def __init__(self, display, program, title="Gomoku", side=3):
        self.display, self.program, self.side = display, program, side
        self.window = display.window_of(title)
        self._measure()
        x, y = self.layout.board.center
        between = self.layout.unit // 2 - 4  # wood or paper, whatever lies on the lines
        wait_until(lambda: self._pixels()[y - between, x - between].sum() > 400, "the board was never drawn")

    def _measure(self):
        place = self.window.get_geometry()
        self.left, self.top, self.size = place.x, place.y, (place.width, place.height)
        in_place_of_a_stone = "swap" if self.side == 3 else "pass"
        self.layout = lay_out(self.size, self.side, self.side, 1.0, self.side == 3, in_place_of_a_stone)

    def resize(self, width, height):
        self.display.resize(self.window, width, height)
        self._measure()
        assert self.size == (width, height)

    def _pixels(self):
        return self.display.picture()[self.top : self.top + self.size[1], self.left : self.left + self.size[0]]

    def stones(self):
        """Return what the screen shows by its colours: point (h, w) -> X (crosses, black stones) or O (rings, white stones)."""
        pixels, found = self._pixels(), {}
        reach = self.layout.unit // (3 if self.side == 3 else 4)
        for point in product(range(self.side), repeat=2):
            x, y = self.layout.centre_of(*point)
            seen = pixels[y - reach : y + reach, x - reach : x + reach].astype(int)
            redness = seen[:, :, 0] - seen[:, :, 2]
            if self.side == 3:
                # What only follows the mouse is half transparent, and a cell of a winning line is yellow.
                signs = {"X": (redness < -70).mean() > 0.04, "O": (redness > 115).mean() > 0.04}
            else:
                grey = abs(redness) < 30  # wood is brown
                signs = {"X": (grey & (seen[:, :, 0] < 110)).mean() > 0.5, "O": (grey & (seen[:, :, 0] > 180)).mean() > 0.5}
            if letter := "".join(name for name, is_seen in signs.items() if is_seen):
                found[point] = letter
        return found

    def click(self, *where):
        """Click on a button (its name) or a point (h, w), then leave the board."""
        layout = self.layout
        x, y = layout.buttons[where[0]].center if isinstance(where[0], str) else layout.centre_of(*where)
        self.display.click(self.left + x, self.top + y)
        self.display.point_at(self.left + layout.panel.x + 5, self.top + 5)

    def wait_for(self, stones):
        wait_until(
            lambda: len(self.stones()) == stones, lambda: f"{stones} stones were expected; the screen shows {self.stones()}"
        )

    def close(self):
        """Close the window as a window manager does, and return the exit code and the errors."""
        self.display.close(self.window)
        _, errors = self.program.communicate(timeout=60)
        return self.program.returncode, errors


def result_of(stones):
    """Return how a game that shows these stones has ended, as SGF says it; an empty string if it goes on."""
    won = {stones.get(line[0]) for line in LINES if len({stones.get(point) for point in line}) == 1} - {None}
    return {"X": "B+", "O": "W+"}[won.pop()] if won else "0" if len(stones) == 9 else ""


def test_a_whole_game_is_played_stepped_through_saved_and_opened_with_mouse_and_keys(display, workspace, tmp_path):
    with shown(display, workspace / "human_play.py", tmp_path, "--white", "mcts:playouts=100") as program:
        window = OnScreen(display, program)
        while not result_of(stones := window.stones()):
            point = next(point for point in POINTS if point not in stones)
            window.click(*point)
            wait_until(lambda: result_of(now := window.stones()) or len(now) % 2 == 0, "nobody answered the click")
        display.press("s")
        wait_until(lambda: list(tmp_path.glob("saved_games/*.sgf")), "S saved nothing")
        saved = read_game(next(tmp_path.glob("saved_games/*.sgf")))
        assert saved.result == result_of(stones)
        assert stones == {divmod(move, 3): "XO"[ply % 2] for ply, move in enumerate(saved.actions)}
        display.press("Left", "Left")
        window.wait_for(len(stones) - 2)
        window.click("first")
        window.wait_for(0)
        display.press("End")
        window.wait_for(len(stones))
        window.resize(640, 500)
        wait_until(lambda: window.stones() == stones, "after resizing, the board shows something else")
        window.click("new")
        window.wait_for(0)
        display.press("o", "1")
        wait_until(lambda: window.stones() == stones, "the game that was opened is another one")
        assert window.close() == (0, b"")


@pytest.mark.parametrize("ends_by", ["the window's close button", "Ctrl-C"])
def test_a_move_is_taken_back_in_mid_thought_and_the_program_ends_in_mid_thought(display, workspace, tmp_path, ends_by):
    with shown(display, workspace / "human_play.py", tmp_path, "--white", "mcts:playouts=100000000") as program:
        window = OnScreen(display, program)
        window.click(0, 2)
        window.wait_for(1)
        display.press("z")
        window.wait_for(0)
        window.click(1, 1)
        window.wait_for(1)
        assert window.stones() == {(1, 1): "X"}
        if ends_by == "Ctrl-C":
            program.send_signal(signal.SIGINT)
            _, errors = program.communicate(timeout=60)
            assert (program.returncode, errors) == (130, b"")
        else:
            assert window.close() == (0, b"")


def test_a_game_of_go_with_a_capture_a_refusal_and_two_passes(display, workspace, tmp_path):
    options = ("--game", "go", "--board", "5x5", "--komi", "0.5", "--black", "human", "--white", "human")
    with shown(display, workspace / "human_play.py", tmp_path, *options) as program:
        window = OnScreen(display, program, "Go", 5)
        for point in ((0, 1), (0, 0)):
            window.click(*point)
        window.wait_for(2)
        window.click(1, 0)
        captured = {(0, 1): "X", (1, 0): "X"}
        wait_until(lambda: window.stones() == captured, lambda: f"the white stone was not captured: {window.stones()}")
        window.click(0, 0)  # suicide
        display.press("p")
        window.click("pass")
        display.press("s")
        wait_until(lambda: list(tmp_path.glob("saved_games/*.sgf")), "S saved nothing")
        saved = read_game(next(tmp_path.glob("saved_games/*.sgf")), game_for_people("go", 5, 0.5))
        assert (saved.result, saved.actions) == ("B+24.5", (1, 0, 5, 25, 25)), "the suicide was refused, both passed"
        assert window.stones() == captured
        assert window.close() == (0, b"")
