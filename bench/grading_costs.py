"""Record what a grading costs, for `python -m grader grade --plan`: `python bench/grading_costs.py RESULT...`.

Each RESULT is the folder of a finished run of the reference with another profile, graded alone on an idle machine and on one
core, as in a class (`taskset -c 0 python -m grader grade instructor/reference --profile quick --out results`): alone on more
cores, some checks use two. The speed of this machine is measured and kept with the figures, in grader/pipeline/costs.json.
Profiles that are not given keep theirs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from arena.engine.engine_process import EngineSpec
from arena.match.calibrate import measure
from common.files import write_whole
from common.program_ends import Parser
from grader.assignment import load_assignment
from grader.pipeline.engine_build import build_opponent
from grader.pipeline.planning import RECORD, measured_costs
from grader.pipeline.results import RESULTS, read_results


def main() -> int:
    """Write the costs of the given results."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("results", nargs="+", type=Path, metavar="RESULT", help="folder of a finished run of the reference")
    options = parser.parse_args()
    assignment = load_assignment()
    baseline = str(build_opponent("baseline", assignment))
    speed = round(measure(EngineSpec(path=baseline, command=(baseline,))).factor, 3)
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for folder in options.results:
        results = read_results(folder / RESULTS)
        costs = measured_costs([results], assignment, "")
        checks = {check: round(seconds, 2) for check, seconds in costs.checks.items()}
        times = {"overhead_s": round(costs.overhead_s, 1), "game_s": round(costs.game_s, 1), "checks": checks}
        record[results.profile] = {"machine": results.environment, "speed": speed, **times}
    write_whole(RECORD, json.dumps(record, indent=1) + "\n")
    print(f"{RECORD.name}: {', '.join(record)}; speed factor of this machine {speed:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
