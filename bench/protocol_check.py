"""Count how often the protocol check accuses an engine.

    python bench/protocol_check.py --kind variants --seeds 200 --no-baseline 'engine-*'
    python bench/protocol_check.py --seeds 50 reference

The arguments are names or patterns of variants and mutants (`instructor/submissions`). Each engine is compiled once and
plays the games of the check with every seed, unconfined; one that does not compile is named and left out. The table shows for
each engine the number of runs with a fault on one side and on both sides, the temptations of
`grader/judge/support/beliefs.py` that it met and took, and the answers and seconds per run. `--no-baseline` skips the full
games against the baseline, which take longest.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from arena.engine.engine_process import EngineSpec, Limits
from common.program_ends import Parser
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import find_sandbox
from grader.errors import StudentFault
from grader.instructor.trust import KINDS, Sample, lay_out, load_samples
from grader.judge.support.beliefs import temptations
from grader.judge.support.protocol_games import Side
from grader.pipeline.engine_build import build_submitted
from grader.pipeline.opponents import build_opponent
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace

MOVE_S = 0.2  # the time per move announced to engines, as in the profile `trust`


def compiled(sample: Sample, folder: Path) -> EngineSpec:
    """Compile the engine of a sample and return it."""
    assignment = load_assignment()
    lay_out(sample, folder / "submission")
    submission = read_submission(folder / "submission", assignment)
    workspace = build_workspace(assignment, submission, folder / "workspace")
    binary = folder / "engine"
    build_submitted(workspace, submission, binary, assignment, find_sandbox())
    return EngineSpec(sample.name, (str(binary),))


def run(engine: EngineSpec, seed: int, with_baseline: bool) -> list[Side]:
    """Play all games of both sides and return the sides."""
    baseline = EngineSpec("baseline", (str(build_opponent("baseline", load_assignment())),)) if with_baseline else None
    limits = Limits(move_s=5, told_move_s=MOVE_S)
    sides = [Side(seat, engine, baseline, limits, Random(f"{seed} {seat}")) for seat in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(Side.play, sides))
    return sides


def main() -> int:
    """Print a line for each engine, followed by its most frequent faults."""
    parser = Parser(description=__doc__.split(":")[0])
    parser.add_argument("names", nargs="+")
    parser.add_argument("--kind", choices=sorted(KINDS), help="one kind of sample (default: all)")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--no-baseline", action="store_true")
    arguments = parser.parse_args()
    if arguments.seeds < 1:
        parser.error(f"expected --seeds of at least 1; got {arguments.seeds}")
    samples = load_samples((arguments.kind,) if arguments.kind else tuple(KINDS))
    chosen = [s for s in samples if any(fnmatchcase(s.name, name) for name in arguments.names)]
    if not chosen:
        parser.error(f"expected names or patterns of variants or mutants; none fits {' '.join(arguments.names)}")
    print("engine | runs | one side | both sides | temptations met | taken | answers per run | s per run")
    for sample in chosen:
        with tempfile.TemporaryDirectory(prefix="bench-protocol-") as folder:
            try:
                engine = compiled(sample, Path(folder))
            except StudentFault as error:
                print(f"{sample.name} is left out: {error}", flush=True)
                continue
            count: Counter[str] = Counter()
            messages: Counter[str] = Counter()
            started = time.monotonic()
            for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
                sides = run(engine, seed, not arguments.no_baseline)
                faults = [fault for side in sides if (fault := side.fault())]
                count[f"found {len(faults)}"] += 1
                messages.update(faults)
                for side in sides:
                    count["answers"] += sum(len(game.moves[side.seat :: 2]) for game in side.games)
                    met = [t for game in side.games for t in temptations(game.moves, side.seat)]
                    count["met"] += len(met)
                    count["taken"] += sum(t.is_taken for t in met)
            seconds = (time.monotonic() - started) / arguments.seeds
        found = f"{count['found 1']} | {count['found 2']} | {count['met']} | {count['taken']}"
        answers = count["answers"] / arguments.seeds
        print(f"{sample.name} | {arguments.seeds} | {found} | {answers:.0f} | {seconds:.1f}", flush=True)
        for message, times in messages.most_common(3):
            print(f"    {times} x {message}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
