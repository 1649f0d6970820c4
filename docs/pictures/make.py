"""The pictures of README.md: python docs/pictures/make.py [board] [report].

The board is the end of a game that the baseline plays against itself (build/engines/baseline), in the window of
human_play.py. The report is that of the reference, graded with the profile smoke, in a headless Chromium. Both are drawn again
in the same way from the same seed, so that a picture changes only with the program that it shows.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BASELINE = ROOT / "build" / "engines" / "baseline"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SEED = "1"


def draw_board(target: Path) -> None:
    """Play a game of the baseline against itself and save its last position as the window shows it."""
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    sys.path.insert(0, str(ROOT))
    from Board import GUI_v1_4

    with tempfile.TemporaryDirectory() as scratch:
        record = Path(scratch, "match.json")
        command = [sys.executable, "Minimax/evaluate.py", "--agents-path", str(BASELINE), str(BASELINE), "--num-plays", "1"]
        subprocess.run([*command, "--seed", SEED, "--json", str(record)], cwd=ROOT, check=True)
        game = json.loads(record.read_text(encoding="utf-8"))["games"][0]
    stones = coloured(game["moves"])
    last = list(stones)[-1]
    won = GUI_v1_4.line_through(stones, last, 5)
    view = GUI_v1_4.View(stones, last, "The AI wins", human_is_black=stones[last] == 1, score=(0, 1, 0), line=won)
    gui = GUI_v1_4.GUI(15)
    gui.draw(view)
    GUI_v1_4.pygame.image.save(GUI_v1_4.pygame.display.get_surface(), str(target))
    gui.close()


def coloured(moves: list[list[int]]) -> dict[tuple[int, int], int]:
    """(h, w) -> colour of the stones of a recorded game in order of play; a swap changes the colour of those before it."""
    stones: dict[tuple[int, int], int] = {}
    for ply, (x, y) in enumerate(moves):
        if (x, y) == (-1, -1):
            stones = {point: 1 - colour for point, colour in stones.items()}
        else:
            stones[y, x] = ply % 2
    return stones


def draw_report(target: Path) -> None:
    """Grade the reference and save the upper part of its report as a browser shows it."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"expected one of {', '.join(BROWSERS)} on the PATH (Debian, Ubuntu: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "grader", "grade", "instructor/reference", "--profile", "smoke"]
        subprocess.run([*command, "--seed", SEED, "--out", scratch], cwd=ROOT, check=True)
        page = Path(scratch, "reference", "report.html").as_uri()
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=900,860", f"--screenshot={target}"]
        subprocess.run([browser, *options, page], check=True, capture_output=True)


def main() -> None:
    """Make the pictures that are named, or both."""
    for name in sys.argv[1:] or ["board", "report"]:
        {"board": draw_board, "report": draw_report}[name](HERE / f"{name}.png")


if __name__ == "__main__":
    main()
