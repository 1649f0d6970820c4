"""The screens shown in README.md and in the handout: python docs/pictures/make.py [board] [report].

The board is the end of a game that the baseline plays against itself (build/engines/baseline), in the window of
human_play.py. The report is that of the reference, graded with the profile quick, in a headless Chromium. Both are drawn again
in the same way from the same seed, so that a picture changes only with the program that it shows.
"""

from __future__ import annotations

import argparse
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
    """Play a game of the baseline against itself and save its last position as the window shows it, with numbers."""
    os.environ["SDL_VIDEODRIVER"] = "dummy"
    sys.path.insert(0, str(ROOT))
    from arena.engine.engine_process import EngineSpec
    from Board.game_board import Board
    from Board.play.game_file import read_game
    from Board.play.people import Participant, Rules
    from Board.play.session import Session
    from Board.window.fonts import find_font
    from Board.window.window import Window
    from Minimax.search_wrapper import EnginePlayer

    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "Minimax/evaluate.py", "--agents-path", str(BASELINE), str(BASELINE), "--num-plays", "1"]
        subprocess.run([*command, "--seed", SEED, "--sgf", scratch], cwd=ROOT, check=True)
        game = read_game(next(Path(scratch).glob("*.sgf")))
    people = (Participant("You"), Participant("baseline", EnginePlayer(EngineSpec(str(BASELINE)))))
    session = Session(Board(width=15, height=15, n_in_row=5), people, black=1, rules=Rules(may_swap=True))
    session.load(game)
    window = Window(session, font=find_font("en"))
    window.do("numbers")
    window.run_frame()
    window.screenshot(target)
    window.close()


def draw_report(target: Path) -> None:
    """Grade the reference and save the upper part of its report as a browser shows it."""
    browser = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if browser is None:
        sys.exit(f"expected one of {', '.join(BROWSERS)} on the PATH (Debian, Ubuntu: apt-get install chromium)")
    with tempfile.TemporaryDirectory() as scratch:
        command = [sys.executable, "-m", "grader", "grade", "instructor/reference", "--profile", "quick"]
        subprocess.run([*command, "--seed", SEED, "--out", scratch], cwd=ROOT, check=True)
        page = Path(scratch, "reference", "report.html").as_uri()
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=900,860", f"--screenshot={target}"]
        subprocess.run([browser, *options, page], check=True, capture_output=True)


def main() -> None:
    """Draw the pictures that the command line names, or both."""
    drawers = {"board": draw_board, "report": draw_report}
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pictures", nargs="*", metavar="PICTURE", help=f"{' or '.join(drawers)} (default: both)")
    names = parser.parse_args().pictures or [*drawers]
    if strange := [name for name in names if name not in drawers]:
        parser.error(f"expected pictures among {', '.join(drawers)}; got {strange[0]}")
    for name in names:
        drawers[name](HERE / f"{name}.png")


if __name__ == "__main__":
    main()
