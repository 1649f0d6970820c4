"""Record what a grading costs, for `python -m grader grade --plan`: `python bench/grading_costs.py RESULT...`.

Each RESULT is one of two folders, graded on an idle machine with `--profile quick` or `full`:

- of a finished run of the reference, on one core, as in a class (`taskset -c 0 python -m grader grade instructor/reference
  --profile quick --out build/graded`): alone on more cores, some checks use two;
- of the results of a made-up class (`python -m grader rehearse 100 --out rehearsal`).

The speed of this machine, with as many cores busy, is measured and kept with the figures, in grader/pipeline/costs.json.
Figures that are not measured again stay.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from arena.engine.cores import available_cores
from common.files import write_whole
from common.program_ends import Parser
from grader.assignment_file import load_assignment
from grader.pipeline.machine_speed import machine_speed
from grader.pipeline.planning import RECORD, REFERENCE, REHEARSED, measured_costs
from grader.pipeline.results import RESULTS, read_results


def main() -> int:
    """Write the costs of the given results."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="folder of one run, or of a class")
    options = parser.parse_args()
    assignment = load_assignment()
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for folder in options.results:
        one = (folder / RESULTS).exists()
        runs = [read_results(path) for path in ([folder / RESULTS] if one else sorted(folder.glob(f"*/{RESULTS}")))]
        if len({run.profile for run in runs}) != 1:
            parser.error(f"expected results with one profile in {folder}; got {len(runs)} results")
        basis = REFERENCE if one else REHEARSED
        costs = measured_costs(runs, assignment, basis)
        checks = {check: round(seconds, 2) for check, seconds in costs.checks.items()}
        times = {"overhead_s": round(costs.overhead_s, 1), "game_s": round(costs.game_s, 1), "checks": checks}
        speed = round(machine_speed(assignment, 1 if one else available_cores()), 3)
        profile = record.setdefault(runs[0].profile, {})
        profile[basis] = {"machine": runs[0].environment, "speed": speed, "submissions": len(runs), **times}
        print(f"{runs[0].profile}, {basis}: speed factor of this machine {speed:.2f}")
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
