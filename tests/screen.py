"""A real X server (Xvfb) for tests, with real mouse and key events; what it shows is read from its memory."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

SIZE = (1400, 1000)
PATIENCE_S = 60.0
needs_a_screen = pytest.mark.skipif(shutil.which("Xvfb") is None, reason="needs Xvfb (Debian package xvfb)")


def wait_until(condition, what):
    """Wait until a condition holds; fail with `what`, a sentence or a function that returns one, if it never does."""
    limit = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < limit, what() if callable(what) else what
        time.sleep(0.02)


class Screen:
    """An X server: `environment` shows a program on it, the methods are mouse, keys, a window manager and eyes."""

    def __init__(self, name, memory):
        from Xlib.display import Display

        self.environment = os.environ | {"DISPLAY": name, "SDL_VIDEODRIVER": "x11", "LANG": "C.UTF-8"}
        self._memory, self._server = memory, Display(name)

    def window_of(self, title):
        """Wait for a window with this title and return it; it gets the keys from now on."""
        from Xlib import X
        from Xlib.error import BadWindow

        found, name = [], self._server.intern_atom("_NET_WM_NAME")

        def is_open():
            for window in self._server.screen().root.query_tree().children:
                try:
                    if window.get_full_text_property(name) == title and window.get_attributes().map_state == X.IsViewable:
                        found.append(window)
                except BadWindow:  # it has been closed since
                    continue
            return bool(found)

        wait_until(is_open, f"no window {title!r} came")
        found[0].set_input_focus(X.RevertToParent, X.CurrentTime)
        self._server.sync()
        return found[0]

    def _do(self, *event, **place):
        from Xlib.ext import xtest

        xtest.fake_input(self._server, *event, **place)
        self._server.sync()

    def point_at(self, x, y):
        """Move the mouse to a pixel of the screen."""
        from Xlib import X

        self._do(X.MotionNotify, x=x, y=y)

    def click(self, x, y):
        from Xlib import X

        self.point_at(x, y)
        self._do(X.ButtonPress, 1)
        self._do(X.ButtonRelease, 1)

    def press(self, *keys):
        """Press keys one after the other, by the names that X gives them."""
        from Xlib import XK, X

        for key in keys:
            code = self._server.keysym_to_keycode(XK.string_to_keysym(key))
            self._do(X.KeyPress, code)
            self._do(X.KeyRelease, code)
            time.sleep(0.03)  # SDL takes a key that comes back within 2 ms for one that is held down

    def resize(self, window, width, height):
        window.configure(width=width, height=height)
        self._server.sync()

    def close(self, window):
        """Tell a window to close, as a window manager does when its close button is pressed."""
        from Xlib import X
        from Xlib.protocol.event import ClientMessage

        what = [self._server.intern_atom("WM_DELETE_WINDOW"), X.CurrentTime, 0, 0, 0]
        window.send_event(ClientMessage(window=window, client_type=self._server.intern_atom("WM_PROTOCOLS"), data=(32, what)))
        self._server.sync()

    def picture(self):
        """Return what the screen shows: uint8 [height, width, 3], red first."""
        raw = self._memory.read_bytes()  # a file in the format of xwd
        head = np.frombuffer(raw, ">u4", count=25)
        header, width, height, bytes_per_line, colours = (int(head[place]) for place in (0, 4, 5, 12, 19))
        rows = np.frombuffer(raw, np.uint8, bytes_per_line * height, header + 12 * colours).reshape(height, bytes_per_line)
        return rows[:, : 4 * width].reshape(height, width, 4)[:, :, 2::-1]


@contextmanager
def screen(folder):
    """Start an X server that ends with the block; its memory is a file in `folder`."""
    reading, writing = os.pipe()
    size = "{}x{}x24".format(*SIZE)
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", size, "-fbdir", str(folder), "-nolisten", "tcp"]
    server = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
    os.close(writing)
    try:
        with os.fdopen(reading) as numbers:
            display = numbers.readline().strip()
        assert display, "Xvfb did not start"
        yield Screen(f":{display}", folder / "Xvfb_screen0")
    finally:
        server.terminate()
        server.wait(PATIENCE_S)


@contextmanager
def shown(on, program, folder, *arguments):
    """Run a program whose window is on a screen, in a folder; it is killed at the end of the block if it still runs."""
    command = [sys.executable, str(program), *map(str, arguments)]
    running = subprocess.Popen(command, cwd=folder, env=on.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield running
    finally:
        running.kill()
        running.communicate()
