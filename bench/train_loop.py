"""What train.py does around the algorithm: `python bench/train_loop.py estimates` and `python bench/train_loop.py kills`.

    estimates   trains once for each seed, and compares the time that train.py expected when a quarter of it had passed with the
                time that the run took. Both are CPU time, so that other programs on the machine do not matter.
    kills       trains once undisturbed and once more with kill -9 at random moments, each time continued by --resume, and
                compares the networks and the curves: they must be equal, number by number.

The reference trains tic-tac-toe as `python train.py --seed SEED` does.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import torch

from common.program_ends import Parser
from grader.assignment import ROOT
from grader.assignment_file import load_assignment
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace

QUARTER = 0.25
# Runs train.py with CPU time as the clock of its estimate, and writes a line after each game: the time so far, the number of
# games, and the estimate of what remains (least, expected, most).
PROBE = """
import runpy, sys, time
from types import SimpleNamespace
import training.loop.following as following
from training.loop.estimate import ends_of
following.time = SimpleNamespace(monotonic=time.process_time)
played = following.RunClock.played
def noted(clock, games):
    played(clock, games)
    remaining = clock.remaining(ends_of("tictactoe", 2000, 50, stops_when_verified=True))
    if remaining:
        print(time.process_time(), games, *remaining.seconds, file=log, flush=True)
following.RunClock.played = noted
log = open(sys.argv[1], "w")
sys.argv = sys.argv[2:]
began = time.process_time()
print(began, file=log)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def environment(workspace: Path) -> dict[str, str]:
    """Return the environment of train.py: one thread, and the packages of the workspace."""
    return {**os.environ, "PYTHONPATH": str(workspace), "OMP_NUM_THREADS": "1"}


def measure_estimates(workspace: Path, seeds: list[int]) -> None:
    """Print for each seed how far the expected end was off after a quarter of the run, and whether its span held."""
    print("  seed  games  CPU s  estimate at 25 %           error  in its span")
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder, "log")
            command = [sys.executable, "-c", PROBE, str(log), str(workspace / "train.py"), "--seed", str(seed)]
            before = os.times()
            subprocess.run(command, cwd=folder, env=environment(workspace), check=True, capture_output=True)
            after = os.times()
            first, *rows = [[float(word) for word in line.split()] for line in log.read_text().splitlines()]
        began = first[0]
        took = after.children_user + after.children_system - before.children_user - before.children_system - began
        now, _, *remaining = next(row for row in rows if row[0] - began >= QUARTER * took)
        least, expected, most = (now - began + part for part in remaining)
        print(
            f"{seed:6} {rows[-1][1]:6.0f} {took:6.1f}  {expected:6.1f} ({least:.1f} to {most:.1f})".ljust(47)
            + f"{expected / took - 1:+6.0%}  {'yes' if least <= took <= most else 'no'}",
            flush=True,
        )


def networks(folder: Path) -> dict[str, object]:
    """Return the curves and all weights of a run, as bytes."""
    weights = {
        path.name: {key: tensor.numpy().tobytes() for key, tensor in torch.load(path, weights_only=True).items()}
        for path in [folder / "tmp/current_policy.model", *sorted((folder / "model").glob("*.model"))]
    }
    return {"training.csv": (folder / "tmp/training.csv").read_bytes(), **weights}


def kill_often(workspace: Path, seed: int, times: int, moments: random.Random) -> bool:
    """Train undisturbed and with kills; print each kill, and return whether both runs gave the same."""
    train = [sys.executable, str(workspace / "train.py")]
    with tempfile.TemporaryDirectory() as alone, tempfile.TemporaryDirectory() as killed:
        began = time.monotonic()
        subprocess.run([*train, "--seed", str(seed)], cwd=alone, env=environment(workspace), check=True, capture_output=True)
        whole_s = time.monotonic() - began
        print(f"undisturbed: {whole_s:.0f} s", flush=True)
        at = sorted(moments.uniform(0.02, 0.98) * whole_s for _ in range(times))
        arguments = ["--seed", str(seed)]
        for number, wait in enumerate(end - start for start, end in zip([0.0, *at], at, strict=False)):
            program = subprocess.Popen(
                [*train, *arguments],
                cwd=killed,
                env=environment(workspace),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                code = program.wait(wait)
                sys.exit(f"expected a run to kill; it ended with exit code {code} before kill {number + 1}")
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
            saved = Path(killed, "tmp/training_state.pt").is_file()
            arguments = ["--resume"] if saved else arguments
            rest = "a saved state" if saved else "nothing saved, so it starts again"
            print(f"kill {number + 1:2} after {at[number]:5.1f} s of running: {rest}", flush=True)
        done = subprocess.run([*train, *arguments], cwd=killed, env=environment(workspace), capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"expected the last run to end; exit code {done.returncode}: {done.stderr.strip()}")
        one, other = networks(Path(alone)), networks(Path(killed))
        print(f"compared: {', '.join(one)}: {'equal' if one == other else 'different'}")
        return one == other


def main() -> int:
    """Measure what the command line names; return 1 if a killed run gave another network."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("what", choices=("estimates", "kills"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[9, 10, 11, 12, 13], help="one training for each")
    parser.add_argument("--times", type=int, default=10, help="number of kills")
    options = parser.parse_args()
    if options.times < 1:
        parser.error(f"expected --times of at least 1; got {options.times}")
    with tempfile.TemporaryDirectory() as folder:
        reference = ROOT / "instructor" / "reference"
        assignment = load_assignment()
        workspace = build_workspace(assignment, read_submission(reference, assignment), Path(folder))
        if options.what == "estimates":
            measure_estimates(workspace, options.seeds)
            return 0
        different = [seed for seed in options.seeds if not kill_often(workspace, seed, options.times, random.Random(seed))]
        return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
