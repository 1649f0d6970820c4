"""Measure what grading a class costs: `python bench/class_costs.py --sizes 1 10 100 --jobs 1 2`.

The class consists of copies of one submission (the reference unless another is named), so the cost of a submission can be
compared between sizes. For each size and number of jobs a new `python -m grader grade` runs to its end. The table shows

  cores       the cores that the command may use; a single submission plays its match on all of them
  predicted   the time that `--plan` names before the start; a profile without recorded costs has none
  wall, CPU   of the whole command; the CPU time is that of the whole machine without programs that run nice
  share       CPU time / (wall time x cores)
  memory      the most that the grader's own process held, and the most that all its processes held together

Run this on a machine that does nothing else; `taskset -c 0 python bench/class_costs.py ...` measures a single core. `--record`
adds each row to bench/records/class_costs.json as soon as it is measured, in place of the earlier one.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recording import Record, add_record_option, earlier_record, merged, write_record

from arena.engine.cores import available_cores
from arena.engine.guardian import children
from arena.match.records import machine
from common.program_ends import Parser
from grader.assignment import ROOT
from grader.assignment_file import load_assignment
from grader.pipeline.planning import REFERENCE, Left, class_seconds, expected_games, recorded_costs
from grader.pipeline.results import RESULTS, read_results

COMMAND = "python bench/class_costs.py"
LOOK_S = 0.5
PAGE_MIB = resource.getpagesize() / 2**20


def resident_mib(pid: int) -> float:
    """Return the memory that a process holds, without what it shares with others; 0 if it has ended."""
    try:
        _, resident, shared = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[:3]
    except OSError:
        return 0.0
    return (int(resident) - int(shared)) * PAGE_MIB


def busy_s() -> float:
    """Return the CPU time that this machine has spent since it started, except for programs that run nice.

    Programs that are killed in a namespace of their own are missing from what a parent process can ask about its children.
    """
    _, user, _nice, system, *_ = Path("/proc/stat").read_text(encoding="ascii").split()
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def with_descendants(pid: int) -> list[int]:
    """Return the ids of a process and of all that descend from it."""
    found = [pid]
    for member in found:
        found += children(member)
    return found


def predicted_s(copies: int, jobs: int, profile: str) -> float | None:
    """Return the seconds that a plan names for so many copies of the reference; None for a profile without recorded costs."""
    assignment = load_assignment()
    class_ = [Left([check.id for check in assignment.checks])] * copies
    matches, cores = assignment.long_checks.get("match", ()), available_cores()
    recorded = recorded_costs(assignment, min(copies, jobs, cores)).get(profile)
    if recorded is None:
        return None
    costs = next(each for each in recorded if each.basis == (REFERENCE,))
    return class_seconds(class_, costs, expected_games(assignment, profile), matches, cores, jobs)


def grade_class(copies: list[Path], jobs: int, profile: str, out: Path) -> Record:
    """Grade the copies with a new command and return its row.

    Raises:
        SystemExit: a submission was not graded, or not as the first one.
    """
    row: Record = {"submissions": len(copies), "jobs": jobs, "cores": available_cores(), "profile": profile}
    planned_s = predicted_s(len(copies), jobs, profile)
    row["predicted_s"] = None if planned_s is None else round(planned_s, 1)
    command = [sys.executable, "-m", "grader", "grade", *map(str, copies), "--profile", profile, "--seed", "1"]
    command += ["--jobs", str(jobs), "--out", str(out)]
    before_s, started = busy_s(), time.monotonic()
    grader_mib = all_mib = 0.0
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        while process.poll() is None:
            grader_mib = max(grader_mib, resident_mib(process.pid))
            all_mib = max(all_mib, sum(map(resident_mib, with_descendants(process.pid))))
            time.sleep(LOOK_S)
    wall_s, cpu_s = time.monotonic() - started, busy_s() - before_s
    points = {read_results(path).points for path in out.glob(f"*/{RESULTS}")}
    if process.returncode or len(points) != 1:
        sys.exit(
            f"expected {len(copies)} submissions graded alike; got points {sorted(points)}, exit code {process.returncode}"
        )
    row |= {"wall_s": round(wall_s, 1), "cpu_s": round(cpu_s, 1), "points": points.pop()}
    return row | {"grader_mib": round(grader_mib), "all_mib": round(all_mib)}


def line_of(row: Record) -> str:
    """Return a row as a line below the head that `main` prints."""
    size, cores, wall_s, cpu_s = (row[name] for name in ("submissions", "cores", "wall_s", "cpu_s"))
    predicted = "-" if row["predicted_s"] is None else f"{row['predicted_s']:.0f} s"
    return (
        f"{size:5}  {row['jobs']:4}  {cores:5}  {predicted:>9} {wall_s:6.0f} s {wall_s / size:5.0f} {cpu_s:6.0f} s"
        f" {cpu_s / size:5.0f} {cpu_s / wall_s / cores:6.2f} {row['grader_mib']:4.0f} MiB {row['all_mib']:4.0f} MiB"
    )


def of_same_kind(row: Record) -> tuple[object, ...]:
    """Return what a row replaces an earlier one by."""
    return row["profile"], row["submissions"], row["jobs"], row["cores"]


def main() -> None:
    """Grade classes of each size with each number of jobs."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 10, 100], metavar="N")
    parser.add_argument("--jobs", type=int, nargs="+", default=[2], metavar="N")
    parser.add_argument("--profile", choices=sorted(load_assignment().profiles), default="quick")
    parser.add_argument("--submission", type=Path, default=ROOT / "instructor" / "reference", metavar="FOLDER")
    add_record_option(parser, "class_costs")
    options = parser.parse_args()
    earlier = earlier_record(options.record, COMMAND)
    rows: list[Record] = []
    print("class  jobs  cores  predicted     wall  each      CPU  each  share   grader      all")
    with tempfile.TemporaryDirectory(prefix="class-costs-") as name:
        place = Path(name)
        for size in options.sizes:
            copies = [place / f"student{number:03}" for number in range(size)]
            for copy in copies:
                if not copy.exists():
                    shutil.copytree(options.submission, copy)
            for jobs in options.jobs:
                row = grade_class(copies, jobs, options.profile, place / f"results-{size}-{jobs}")
                rows.append(row)
                print(line_of(row), flush=True)
                if options.record is not None:
                    new: Record = {"command": COMMAND, "machine": machine(), "rows": rows}
                    write_record(options.record, merged(earlier, new, of_same_kind))


if __name__ == "__main__":
    main()
