"""A real browser for tests: Chromium, driven by chromedriver's WebDriver protocol with the standard library alone."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

OPTIONS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--window-size=1200,1600"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key that WebDriver gives an element's id under
START_S, CALL_S = 30, 60


def missing():
    """What has to be installed first, or an empty text."""
    lacking = [program for program in ("chromium", "chromedriver") if not shutil.which(program)]
    return f"{' and '.join(lacking)} not installed: apt-get install chromium chromium-driver" if lacking else ""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def wait_for(question, seconds=START_S):
    """The first answer of `question` that is true; AssertionError when none comes in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := question():
            return answer
        time.sleep(0.1)
    raise AssertionError(f"nothing came within {seconds} s")


class Browser:
    """One session. Selectors are CSS."""

    def __init__(self, port, options):
        self._url = f"http://127.0.0.1:{port}/session"
        chrome = {"binary": shutil.which("chromium"), "args": [*OPTIONS, *options]}
        wanted = {"browserName": "chrome", "goog:chromeOptions": chrome, "goog:loggingPrefs": {"browser": "ALL"}}
        self._url += "/" + self._call("POST", "", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=CALL_S) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {json.load(error)['value']['message']}") from error

    def open(self, url):
        """Go there and wait until the page is loaded."""
        self._call("POST", "/url", {"url": url})

    def url(self):
        return self._call("GET", "/url")

    def find(self, selector):
        """Handles of all elements that match."""
        found = self._call("POST", "/elements", {"using": "css selector", "value": selector})
        return [element[ELEMENT] for element in found]

    def click(self, element):
        """Scroll to the element and click on it with the mouse, as a person does: once nothing moves across it any more.

        It is scrolled to the middle of the window: at the upper edge the bar of formgrader lies over the page.
        """
        end = time.monotonic() + START_S
        while True:
            try:
                self.run("arguments[0].scrollIntoView({block: 'center', inline: 'nearest'})", {ELEMENT: element})
                return self._call("POST", f"/element/{element}/click", {})
            except AssertionError as error:
                if "click intercepted" not in str(error) or time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def run(self, script, *arguments):
        """The value that the function body `script` returns in the page; it reads `arguments` by that name."""
        return self._call("POST", "/execute/sync", {"script": script, "args": arguments})

    def keep_one_window(self):
        """Close what clicks have opened and return to the first window."""
        first, *others = self._call("GET", "/window/handles")
        for window in others:
            self._call("POST", "/window", {"handle": window})
            self._call("DELETE", "/window")
        self._call("POST", "/window", {"handle": first})
        return len(others)

    def log(self):
        """What the console has said since the last call."""
        return [entry["message"] for entry in self._call("POST", "/se/log", {"type": "browser"})]

    def type(self, element, text):
        self._call("POST", f"/element/{element}/value", {"text": text})

    def view_as(self, width, height, dark=False):
        """Show pages as on a screen of this many pixels, in a dark or a light colour scheme."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        for command, params in (("setDeviceMetricsOverride", metrics), ("setEmulatedMedia", {"features": features})):
            self._call("POST", "/goog/cdp/execute", {"cmd": f"Emulation.{command}", "params": params})

    def picture(self, path):
        """Save a screenshot as PNG."""
        path.write_bytes(base64.b64decode(self._call("GET", "/screenshot")))

    def quit(self):
        self._call("DELETE", "")


@contextmanager
def browser(*options):
    """A browser that ends with the block; `options` are more of Chromium's."""
    port = free_port()
    driver = subprocess.Popen(["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    session = None
    try:
        wait_for(lambda: listens(port))
        session = Browser(port, options)
        yield session
    finally:
        if session:
            session.quit()
        driver.terminate()
        driver.wait(10)


def listens(port):
    """Whether a server answers there."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
