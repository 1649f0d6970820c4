"""The window of human_play.py: how long a frame takes while a player thinks, and how the program ends in mid-thought.

    make play ARGS=--help                          lays out build/reference, a tree in which AlphaZero/ is written
    python bench/window.py frames SIDE...          frame times with each side, such as alphazero:model/11_11_5.pt
    python bench/window.py ends SIDE --times 100   closes the window or presses Ctrl-C at random moments of the first thought

Frames are drawn in this process under SDL's dummy driver, so showing them on a screen is not included; with a driver in the
environment it is, as in `SDL_VIDEODRIVER=x11 xvfb-run python bench/window.py frames SIDE`. A frame is all work
between two rests of the loop: events, clocks, looking into the tree, drawing; each frame is forced to draw. The last column is
the 95 % quantile of the time from frame to frame, 33 ms where nothing else wants the core. The window is
closed by SIGTERM, which SDL turns into the event of the window's close button; Ctrl-C is SIGINT.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from common.program_ends import Parser

ROOT = Path(__file__).resolve().parents[1]
TREE = ROOT / "build" / "reference"
PROBE = """
import sys, time
import human_play
from Board.window.window import Window, FRAMES_PER_SECOND, pygame, smooth_beside_a_search
options = human_play.parse(["--black", sys.argv[1], "--white", "human", *sys.argv[3:]])
window = Window(human_play.make_session(options, "en"))
window.do("overlay")
clock, took, starts, limit = pygame.time.Clock(), [], [], time.monotonic() + float(sys.argv[2])
with smooth_beside_a_search():
    while time.monotonic() < limit:
        if not window.session.is_thinking:
            window.do("new")
        window._last = None
        began = time.perf_counter()
        window.run_frame()
        starts.append(began)
        took.append(1000 * (time.perf_counter() - began))
        clock.tick(FRAMES_PER_SECOND)
took, apart = sorted(took[5:]), sorted(1000 * (b - a) for a, b in zip(starts[5:], starts[6:]))
print(len(took), took[len(took) // 2], took[int(0.95 * len(took))], took[-1], apart[int(0.95 * len(apart))])
window.session.close()
window.close()
human_play.leave(0)
"""


def environment() -> dict[str, str]:
    """Return the environment of the program: it draws on no screen, unless SDL_VIDEODRIVER names another driver."""
    return {"SDL_VIDEODRIVER": "dummy", **os.environ, "PYTHONPATH": str(TREE), "LANG": "C.UTF-8"}


def measure_frames(sides: list[str], seconds: float, size: list[str]) -> None:
    """Print the frame times with each side."""
    print(f"{'side':<52} frames   median      p95      max    apart (ms)")
    for side in sides:
        command = [sys.executable, "-c", PROBE, side, str(seconds), *size]
        done = subprocess.run(command, cwd=TREE, env=environment(), capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{side}: {done.stderr.strip().splitlines()[-1]}")
        frames, *figures = done.stdout.split()[-5:]
        print(f"{side:<52} {frames:>6}" + "".join(f"{float(figure):9.1f}" for figure in figures), flush=True)


def end_often(side: str, times: int, seed: int, size: list[str]) -> int:
    """End the program at random moments and print how often each exit code came; return the number of wrong ends."""
    rng = random.Random(seed)
    codes: Counter[tuple[str, int, str]] = Counter()
    for number in range(times):
        name, sign = (("close", signal.SIGTERM), ("Ctrl-C", signal.SIGINT))[number % 2]
        command = [sys.executable, "human_play.py", "--black", side, "--white", "human", *size]
        with subprocess.Popen(
            command, cwd=TREE, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
        ) as program:
            wait_for_thread(program)
            time.sleep(rng.uniform(0, 1.5))
            program.send_signal(sign)
            try:
                _, errors = program.communicate(timeout=20)
            except subprocess.TimeoutExpired:
                program.kill()
                _, errors = program.communicate()
        words = errors.decode(errors="replace").strip().splitlines()
        codes[name, program.returncode, words[-1] if words else ""] += 1
        print(number + 1, name, program.returncode, *words[-1:], flush=True)
    for (name, code, last), count in sorted(codes.items()):
        print(f"{name:<7} exit code {code:>4}: {count:>4}  {last}")
    return sum(count for (_, code, last), count in codes.items() if code not in (0, 130) or last)


def wait_for_thread(program: subprocess.Popen[bytes]) -> None:
    """Wait until the window is open and the search's thread runs, or the program has ended."""
    path = Path(f"/proc/{program.pid}/task")
    while program.poll() is None and not any(_reads(task) for task in path.glob("*/comm")):
        time.sleep(0.02)


def _reads(task: Path) -> bool:
    """Whether this is a thread of SDL, which runs once the window is open."""
    try:
        return task.read_text().startswith("SDL")
    except OSError:
        return False


def main() -> int:
    """Measure what the command line names."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("what", choices=("frames", "ends"))
    parser.add_argument("sides", nargs="+", metavar="SIDE")
    parser.add_argument("--board", help="passed on to human_play.py")
    parser.add_argument("--seconds", type=float, default=20.0, help="for each side (frames)")
    parser.add_argument("--times", type=int, default=100, help="how often the program is ended (ends)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    # A shell makes its background jobs and their programs ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if not (TREE / "human_play.py").is_file():
        sys.exit(f"expected a tree with the solution at {TREE}: make play ARGS=--help")
    size = ["--board", options.board] if options.board else []
    if options.what == "frames":
        measure_frames(options.sides, options.seconds, size)
        return 0
    return int(any(end_often(side, options.times, options.seed, size) for side in options.sides))


if __name__ == "__main__":
    sys.exit(main())
