"""Measure whether load changes verdicts: `python bench/load.py` counts the verdicts that differ from those of an idle machine.

    python bench/load.py --record                                  # everything; hours
    python bench/load.py --only 'search-*' --busy 4 --record       # adds to the record

The same samples are judged with the same seed while 0, 1, 2 and 4 programs that only compute run on every core:

  submissions   the reference and all variants of instructor/submissions, and slow engines (the random sample, which once per
                game thinks for 3.6 or 5.6 s of CPU time, or sleeps for 10 or 12 s: two of these are in time and two are too
                late), graded with a profile of assignment.toml and the checks that their files can affect
  games         the engine of tests/misbehaving_engine.py with each of its faults, as black and as white: how its game ends

As many samples are judged at the same time as there are cores, each on its own. A verdict is a check's status and points, or a
game's termination and loser. An engine that plans by the wall clock may play differently under load, so its game may end
differently without any wrong verdict on its time. Run this on a machine that does nothing else; the graded submissions stay in
--out. --record keeps the counts of each sample for the table in docs/instructor.md.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from queue import SimpleQueue

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recording import Record, add_record_option, earlier_record, merged, write_record

from arena.engine.engine_process import EngineSpec, Limits
from arena.match.match import Load
from arena.match.records import machine
from arena.match.referee import play_game
from arena.match.setup import GameTask
from common.errors import UsageError
from common.program_ends import Parser
from grader.assignment import ROOT
from grader.assignment_file import load_assignment
from grader.confinement.confine import die_with_parent
from grader.confinement.sandbox import Sandbox, find_sandbox
from grader.instructor.replay import recorded_games
from grader.instructor.trust import Sample, checks_for, lay_out, load_samples
from grader.pipeline.grading import grade
from grader.pipeline.order import Order

OUT = Path("results", "load")
COMMAND = "python bench/load.py --only SAMPLE --busy N --record"
SPIN = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nwhile True: pass"
MISBEHAVING = ROOT / "tests" / "misbehaving_engine.py"
FAULTS = (
    *(
        "none",
        "win",
        "occupied",
        "off_board",
        "negative",
        "swap",
        "swap_twice",
        "corner",
        "words",
        "three_numbers",
        "huge_line",
    ),
    *("early_word", "no_newline", "late", "ignore_sigterm", "think", "think_and_sleep", "child_thinks", "ponder", "daemon"),
    *("exit", "exit_but_child", "abort", "close_stdout", "crash_at_init", "silent_at_init", "leave_child", "flood_stderr"),
)
FAULTY_ANSWER = 2
LIMITS = Limits(move_s=1.0, init_s=2.0, memory_mib=1024)
# Name -> what the engine does before its second answer in each game.
SLOW = {
    "thinks-3.6-s": "const double until = seconds() + 3.6; while (seconds() < until) {}",
    "thinks-5.6-s": "const double until = seconds() + 5.6; while (seconds() < until) {}",
    "sleeps-10-s": "std::this_thread::sleep_for(std::chrono::seconds(10));",
    "sleeps-12-s": "std::this_thread::sleep_for(std::chrono::seconds(12));",
}
SLOW_ACTION = """
#include <thread>
static double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }
std::pair<int, int> action(std::pair<int, int> loc) {
    static int answers;
    if (++answers == 2) { TAKES_ITS_TIME }
    return answer(loc);
}
"""
Decision = tuple[str, object]  # status and points, or termination and loser


@dataclass(frozen=True)
class Judged:
    """One verdict under one load, with the words that explain it."""

    outcome: Decision
    words: str


def slow_samples() -> list[Sample]:
    """Return the samples of slow engines, laid over the reference."""
    plain = (ROOT / "Minimax" / "sample.cpp").read_text(encoding="utf-8")
    head = "std::pair<int, int> action("
    own = tuple(f"Minimax/{path.name}" for path in sorted((ROOT / "instructor" / "reference" / "Minimax").iterdir()))
    samples = []
    for name, wait in SLOW.items():
        text = plain.replace(head, "static std::pair<int, int> answer(") + SLOW_ACTION.replace("TAKES_ITS_TIME", wait)
        samples.append(Sample("engines", name, wait, {"Minimax/slow.cpp": text.encode()}, without=own))
    return samples


@contextmanager
def busy_programs(each: int) -> Iterator[None]:
    """Run this many programs on every core, each in its own session, since schedulers first share a core among sessions."""
    command = [sys.executable, "-S", "-c", SPIN]
    cores = sorted(os.sched_getaffinity(0)) * each
    programs = [
        subprocess.Popen([*command, str(core)], start_new_session=True, preexec_fn=die_with_parent, stdin=subprocess.DEVNULL)
        for core in cores
    ]
    try:
        yield
    finally:
        for program in programs:
            program.kill()
            program.wait()


def judge_submission(sample: Sample, profile: str, out: Path, sandbox: Sandbox, seed: int) -> tuple[dict[str, Judged], Load]:
    """Grade a sample; return the verdict of each check, and the load during the games of its checks."""
    long = profile not in ("trust", "smoke")
    assignment = load_assignment()
    assignment = replace(assignment, checks=tuple(checks_for(sample, assignment, long=long)[0]))
    folder = out / "submissions" / sample.name
    lay_out(sample, folder)
    results = grade(folder, Order(assignment, profile, out, sandbox, seed=seed))
    load = Load.of([game for verdict in results.program for game in recorded_games(verdict)])
    return {verdict.id: Judged((verdict.status, verdict.points), verdict.message) for verdict in results.program}, load


def judge_games(fault: str) -> tuple[dict[str, Judged], Load]:
    """Play a misbehaving engine with each colour; return how its games end, and the load during them."""

    def engine(name: str) -> EngineSpec:
        return EngineSpec(name, (sys.executable, "-S", str(MISBEHAVING), name, str(FAULTY_ANSWER)))

    bad, good = engine(fault), engine("none")
    games = {
        colour: play_game(GameTask(*seats, LIMITS, seed=1))
        for colour, seats in {"as black": (bad, good), "as white": (good, bad)}.items()
    }
    found = {colour: Judged((game.termination.value, game.faulty), game.detail) for colour, game in games.items()}
    return found, Load.of(list(games.values()))


def judge_all(
    jobs: dict[str, Sample | str], profile: str, out: Path, sandbox: Sandbox, seed: int
) -> Iterator[tuple[str, dict[str, Judged], Load]]:
    """Yield the name of each sample with its verdicts and the load during them; every core judges one sample at a time."""
    free: SimpleQueue[int] = SimpleQueue()
    for core in sorted(os.sched_getaffinity(0)):
        free.put(core)

    def judged(name: str) -> tuple[str, dict[str, Judged], Load]:
        job = jobs[name]
        return name, *(judge_submission(job, profile, out, sandbox, seed) if isinstance(job, Sample) else judge_games(job))

    with ThreadPoolExecutor(free.qsize(), initializer=lambda: os.sched_setaffinity(0, {free.get()})) as pool:
        yield from pool.map(judged, jobs)


def main() -> int:
    """Judge everything under each load and print the verdicts that change; return 1 if any verdict differs."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    programs = "numbers of programs on every core, in addition to 0"
    parser.add_argument("--busy", type=int, nargs="+", default=[1, 2, 4], metavar="N", help=programs)
    patterns = "patterns for names of submissions and faults"
    parser.add_argument("--only", nargs="+", default=["*"], metavar="PATTERN", help=patterns)
    parser.add_argument("--profile", default="trust", help="a profile of assignment.toml; trust and smoke skip the slow checks")
    parser.add_argument("--seed", type=int, default=1, help="seed of positions and games")
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the graded submissions")
    add_record_option(parser, "load")
    options = parser.parse_args()
    if min(options.busy) < 1:
        parser.error(f"expected --busy of at least 1; got {min(options.busy)}")
    try:
        load_assignment().profile(options.profile)
        sandbox = find_sandbox()
        submissions = [*load_samples(("variants",)), *slow_samples()]
        earlier_record(options.record, COMMAND)
    except UsageError as error:
        parser.error(str(error))
    jobs: dict[str, Sample | str] = {sample.name: sample for sample in submissions} | {fault: fault for fault in FAULTS}
    jobs = {name: job for name, job in jobs.items() if any(fnmatchcase(name, pattern) for pattern in options.only)}
    if not jobs:
        given = " ".join(options.only)
        parser.error(f"expected a pattern that fits a name such as {submissions[0].name} or {FAULTS[-1]}; got {given}")
    here = machine()
    print(f"{here['processor']}, {here['cores']} cores, seed {options.seed}, profile {options.profile}, {sandbox.level}")
    free: dict[tuple[str, str], Judged] = {}
    differing = 0
    for number in [0, *sorted(set(options.busy))]:
        started = time.monotonic()
        rows: list[Record] = []
        with busy_programs(number):
            where = options.out.resolve() / f"busy_{number}"
            for name, found, load in judge_all(jobs, options.profile, where, sandbox, options.seed):
                changed = 0
                for what, judged in found.items():
                    before = free.setdefault((name, what), judged)
                    if judged.outcome != before.outcome:
                        changed += 1
                        print(f"  {name} {what}: {before.outcome} became {judged.outcome}: {judged.words}")
                print(f"  {number} busy: {name}, {len(found)} verdicts. {load.sentence}".rstrip(), flush=True)
                kind = "submission" if isinstance(jobs[name], Sample) else "engine"
                counts = {"verdicts": len(found), "changed": changed}
                settings = {"seed": options.seed, "profile": options.profile, "day": time.strftime("%Y-%m-%d")}
                rows.append({"sample": name, "kind": kind, "busy": number, **counts, **settings})
                if options.record and number:
                    new = {"command": COMMAND, "machine": here, "rows": rows}
                    earlier = earlier_record(options.record, COMMAND)
                    write_record(options.record, merged(earlier, new, key=lambda row: (row["sample"], row["busy"])))
        count, changed = (sum(row[name] for row in rows) for name in ("verdicts", "changed"))
        minutes = (time.monotonic() - started) / 60
        print(
            f"{number} busy programs on every core: verdicts changed: {changed} of {count} ({minutes:.1f} minutes)", flush=True
        )
        differing += changed
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
