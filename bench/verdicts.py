"""Run the checks of searches and networks with many seeds: how often is a correct solution accused or a mutant missed?

    python bench/verdicts.py --kind variants --only 'search-*' --seeds 200 --record
    python bench/verdicts.py --kind mutants --only 'pure-*' --seeds 20

--record keeps the counts of variants for the table in docs/instructor.md; another call adds further samples or seeds.

Samples, seeds and verdicts are those of `python -m grader trust`. Here each sample runs all its seeds in one process, without
a sandbox, so a run takes only a few seconds of CPU time. Only samples that contain a file of Part 2 are run.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from fnmatch import fnmatchcase
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from recording import Record, add_record_option, earlier_record, merged, write_record

from arena.match.records import machine
from common.errors import UsageError
from common.program_ends import Parser
from grader.assignment_file import load_assignment
from grader.confinement import worker
from grader.confinement.worker_client import fault_sentence
from grader.errors import CouldNotGrade, StudentFault
from grader.instructor import trust
from grader.judge.checks import (
    test_mcts_alphazero,
    test_mcts_pure,
    test_network,
    test_noise,
    test_overfits,
    test_temperature,
    test_train_step,
)
from grader.judge.support.ruling import Ruling
from grader.judge.support.training_steps import ask_for_batch
from grader.judge.support.which_oracle import find_oracle

CHECKS = (test_mcts_pure, test_mcts_alphazero, test_noise, test_temperature, test_network, test_train_step, test_overfits)
COMMAND = "python bench/verdicts.py --kind variants --only SAMPLE --seed FIRST --seeds N --record"
FILES = {
    "AlphaZero/mcts_pure.py": {"mcts_pure"},
    "AlphaZero/mcts_alphaZero.py": {"mcts_alphazero"},
    "AlphaZero/policy_value_net_torch.py": {"network", "train_step"},
}


class LocalWorker:
    """Runs the operations of `grader.confinement.worker` in this process, with the seeds that a worker would get."""

    def __init__(self, workspace: Path) -> None:
        self.seed_rng = Random()
        self._workspace = workspace

    def call(self, operation: str, **arguments: Any) -> Any:
        """As `grader.confinement.worker_client.Worker.call`."""
        worker.STATE["seed"] = self.seed_rng.getrandbits(32)
        worker.seed_generators()
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                value = worker.OPERATIONS[operation](**arguments)
            return worker.decode(json.loads(json.dumps(worker.encode(value))))
        except Exception as error:
            fault = worker.describe(error, self._workspace)
            raise (CouldNotGrade if fault["ours"] else StudentFault)(fault_sentence(fault)) from error

    def close(self) -> None:
        """Forget the objects that the operations made, as a new worker would; modules stay loaded."""
        worker.STATE.clear()


def tests_of(groups: set[str]) -> dict[str, Any]:
    """Return check -> the test that decides it."""
    found: dict[str, Any] = {}
    for module in CHECKS:
        for test in vars(module).values():
            marks = {mark.args[0] for mark in getattr(test, "pytestmark", ())}
            found |= {check: test for check in marks if check.split(".")[0] in groups}
    return found


def verdict_of(check: str, test: Any, seed: int, local: LocalWorker, shares: dict[str, float]) -> tuple[float, str]:
    """Return the share of the points and the message; the share is -1 if the check could not be graded."""
    ruling = Ruling(shares=shares)
    local.seed_rng = Random(f"{seed}:{check}:dice")  # codespell:ignore dice
    try:
        rng, oracle = Random(f"{seed}:{check}"), find_oracle()
        needed = signature(test).parameters
        fixtures = {"worker": local, "ruling": ruling, "rng": rng, "oracle": oracle}
        if "batch" in needed:
            fixtures["batch"] = ask_for_batch(rng, oracle)
        test(**{name: fixtures[name] for name in needed})
    except StudentFault as fault:
        return 0.0, str(fault)
    except CouldNotGrade as doubt:
        return -1.0, str(doubt)
    return ruling.share, ruling.message or ruling.seen


def run_one(folder: Path, groups: set[str], seeds: range) -> None:
    """Print a line of JSON for each check and seed."""
    sys.path.insert(0, str(folder))
    shares, local = load_assignment().shares, LocalWorker(folder)
    tests = tests_of(groups)
    for seed in seeds:
        for check, test in tests.items():
            started = time.process_time()
            share, message = verdict_of(check, test, seed, local, dict(shares.get(check, {})))
            print(json.dumps([check, seed, share, message, time.process_time() - started]), flush=True)


def print_sample(sample: trust.Sample, rows: list[list[Any]]) -> int:
    """Print the verdicts of a sample and mark unexpected ones; return the number of unexpected verdicts."""
    wrong = 0
    for check in dict.fromkeys(row[0] for row in rows):
        mine = [row for row in rows if row[0] == check]
        counts = Counter(row[2] for row in mine)
        expected = sample.expected.get(check, 1.0)
        said = sample.says if check == next(iter(sample.expected), None) else ""
        bad = [
            row
            for row in mine
            if check not in sample.luck
            and ((row[2] >= 1 or row[2] < 0) if expected is None else row[2] != expected) | (said not in row[3])
        ]
        wrong += len(bad)
        if bad or check in sample.expected or check in sample.luck:
            told = ", ".join(f"{n} of {len(mine)} got {share:g}" for share, n in sorted(counts.items()))
            mark = "NO " if bad else "yes"
            print(f"{mark} {sample.name:44} {check:26} {told}" + (f" | {bad[0][1]}: {bad[0][3]}" if bad else ""), flush=True)
    return wrong


def record_sample(path: Path, sample: trust.Sample, seeds: range, rows: list[list[Any]], unexpected: int) -> None:
    """Write the counts of a sample to a record, in place of those that begin with the same seed."""
    counts: Record = {"sample": sample.name, "first_seed": seeds.start, "seeds": len(seeds)}
    counts |= {"checks": len({row[0] for row in rows}), "verdicts": len(rows), "unexpected": unexpected}
    counts |= {"cpu_s": round(sum(row[4] for row in rows), 1), "day": time.strftime("%Y-%m-%d")}
    new = {"command": COMMAND, "machine": machine(), "rows": [counts]}
    write_record(path, merged(earlier_record(path, COMMAND), new, key=lambda row: (row["sample"], row["first_seed"])))


def main() -> int:
    """Parse the command line and run the samples one after the other; return 1 if any verdict is unexpected."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kind", choices=sorted(trust.KINDS), help="one kind of sample (default: all)")
    parser.add_argument(
        "--only", nargs="+", default=["*"], metavar="PATTERN", help="run samples whose name matches one of the patterns"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--one", nargs=2, metavar=("FOLDER", "GROUPS"), help=argparse.SUPPRESS)
    add_record_option(parser, "right_variants")
    options = parser.parse_args()
    if options.record and options.kind != "variants":
        parser.error("expected --kind variants with --record, which counts the points that right solutions lose")
    try:
        earlier_record(options.record, COMMAND)
    except UsageError as error:
        parser.error(str(error))
    seeds = range(options.seed, options.seed + options.seeds)
    if options.one:
        run_one(Path(options.one[0]), set(options.one[1].split(",")), seeds)
        return 0
    kinds = (options.kind,) if options.kind else tuple(trust.KINDS)
    wrong = runs = 0
    seconds: Counter[str] = Counter()
    for sample in trust.load_samples(kinds):
        if not any(fnmatchcase(sample.name, pattern) for pattern in options.only):
            continue
        groups = set().union(*(found for file, found in FILES.items() if file in sample.files or sample.name == "reference"))
        if not groups:
            continue
        with tempfile.TemporaryDirectory(prefix="search-verdicts-") as folder:
            trust.lay_out(sample, Path(folder, sample.name))
            command = [
                sys.executable,
                str(Path(__file__).resolve()),
                "--one",
                str(Path(folder, sample.name)),
                ",".join(sorted(groups)),
            ]
            command += ["--seed", str(options.seed), "--seeds", str(options.seeds)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=folder)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        unexpected = print_sample(sample, rows)
        print(f"    {sample.name}: {len(rows)} verdicts, {unexpected} unexpected", flush=True)
        if options.record:
            record_sample(options.record, sample, seeds, rows, unexpected)
        wrong += unexpected
        runs += len(rows)
        for check, _, _, _, cpu_s in rows:
            seconds[check] += cpu_s
    print(f"{runs} verdicts, {wrong} unexpected; CPU seconds: {', '.join(f'{i} {s:.0f}' for i, s in seconds.items())}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
