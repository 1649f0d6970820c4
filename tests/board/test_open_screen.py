"""The screen on which the window is opened: one that is missing is reported, and letters are keys."""

import os
import subprocess
import sys

import pytest

os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
pygame = pytest.importorskip("pygame")

from Board.window.window import open_screen  # noqa: E402


def test_letters_are_keys_and_no_text_for_an_input_method(monkeypatch):
    stopped, stop = [], pygame.key.stop_text_input
    monkeypatch.setattr(pygame.key, "stop_text_input", lambda: stopped.append(pygame.display.get_surface()) or stop())
    try:
        open_screen(3, 3)
        assert stopped == [pygame.display.get_surface()] != [None], "text input begins with the window"
    finally:
        pygame.quit()


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
    code = "from Board.window.window import open_screen\ntry: open_screen(3, 3)\nexcept RuntimeError as error: print(error)"
    environment = {k: v for k, v in os.environ.items() if k not in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")}
    environment["XDG_RUNTIME_DIR"] = str(tmp_path)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("expected a screen to open a window on"), done.stderr
