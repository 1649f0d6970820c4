"""`python -m grader trust`: test the grader itself on submissions with a known outcome.

The samples are in `instructor/submissions/`:
- A mutant is the reference with one typical bug. It must fail exactly the checks that `mutants/*.toml` lists, and the message
  must name the misconception.
- A variant is a correct solution that differs from the reference (`variants/NAME/` laid over it); the reference itself also
  counts as one. A variant must get full marks, or the share given in its `expected.toml`.

A sample is graded like any submission, by the checks that its files can decide (`files.decides` of assignment.toml). A
verdict is reused until the sample or the grader changes. Checks that take minutes run only on request. A check that fails a
correct solution by bad luck does so only with some seeds. `--seeds` tries several, and a second table then shows how often
each check was wrong, with the upper end of the 95 % interval.
"""

from __future__ import annotations

import json
import multiprocessing
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from arena.statistics.estimates import wilson_95
from common.errors import UsageError
from common.files import write_whole
from grader.assignment import ROOT, Assignment, Check
from grader.assignment_file import load_assignment, load_named
from grader.confinement.sandbox import Sandbox, find_sandbox
from grader.pipeline.grading import grade
from grader.pipeline.handed_out import checks_decided_by
from grader.pipeline.listeners import Announce
from grader.pipeline.order import Identity, Order
from grader.pipeline.results import COULD_NOT_GRADE, PASSED, Results, Verdict
from grader.pipeline.run import RunRecord
from grader.pipeline.run_folder import finished_results
from grader.pipeline.submission import read_submission
from grader.typed_toml import read_toml

OUT = Path("results", "trust")
BRIEF_PROFILE, LONG_PROFILE = "trust", "quick"
EXPECTED = "expected.toml"
ROWS = "rows.json"


@dataclass(frozen=True)
class Sample:
    """A submission and the outcome that it must get.

    Attributes:
        why: the misconception, or how a correct solution differs from the reference.
        files: relative path -> content of each file laid over the reference.
        without: files and folders of the reference that are left out.
        expected: check -> share of its points in [0, 1), or None for any share below 1; all other checks must give full points.
        luck: checks that may pass or fall short, depending on the seed.
        says: words that the message of the first expected check must contain.
    """

    kind: str
    name: str
    why: str
    files: dict[str, bytes]
    without: tuple[str, ...] = ()
    expected: dict[str, float | None] = field(default_factory=dict)
    luck: tuple[str, ...] = ()
    says: str = ""


@dataclass(frozen=True)
class SampleRow:
    """A sample's outcome with one seed.

    Attributes:
        ran: checks that ran.
        not_run: checks that were left out because they take too long.
        failed: check -> message, for each check that gave less than full points.
        faults: check -> how its verdict differs from the expected one.
    """

    kind: str
    name: str
    seed: int
    expected: dict[str, float | None]
    ran: tuple[str, ...]
    not_run: tuple[str, ...]
    failed: dict[str, str]
    faults: dict[str, str]
    seconds: float

    @property
    def wrong(self) -> str:
        """All faults in one line; empty if every verdict is as expected."""
        return "; ".join(f"{check_id} {fault}" for check_id, fault in self.faults.items())


def load_mutants(root: Path, assignment: Assignment | None = None) -> list[Sample]:
    """Return the mutants of `mutants/*.toml`, in the order of the file names.

    They are those of the main assignment by default. In the reference's `file` the text `old` is replaced by `new`. The checks
    in `fails` must give less than full points, and no others may, except those in `luck`, which depend on chance. The message
    of the first check in `fails` must contain `says`.

    Raises:
        UsageError: the old text is not in the file exactly once, a file cannot be read, a key is missing, or `fails` is empty.
    """
    found = []
    assignment = assignment or load_assignment()
    files = sorted((root / assignment.samples / "mutants").glob("*.toml"))
    for mutant in [mutant for path in files for mutant in _mutants_in(path)]:
        try:
            name, path, old = mutant["name"], mutant["file"], mutant["old"]
            text = (root / assignment.reference / path).read_text(encoding="utf-8")
            if text.count(old) != 1:
                raise UsageError(
                    f"mutant {name}: expected its old text exactly once in {path}; it is there {text.count(old)} times"
                )
            if not mutant["fails"]:
                raise UsageError(f"mutant {name}: expected at least one check in fails; got none")
            found.append(
                Sample(
                    kind="mutants",
                    name=name,
                    why=mutant["misconception"],
                    files={path: text.replace(old, mutant["new"]).encode()},
                    expected=dict.fromkeys(mutant["fails"]),
                    luck=tuple(mutant.get("luck", ())),
                    says=mutant["says"],
                )
            )
        except KeyError as error:
            raise UsageError(f"mutant {mutant.get('name', '?')}: {error} is missing") from error
        except OSError as error:
            raise UsageError(f"mutant {name}: expected a file of the reference; got {path}: {error.strerror}") from error
    return found


def load_variants(root: Path, assignment: Assignment | None = None) -> list[Sample]:
    """Return the reference itself and the variants in the folders of `variants/`.

    They are those of the main assignment by default. Each folder has an `expected.toml` with `why`, and if need be `over`
    (another variant whose files are laid first, as a path from `variants/`), `without` and `[share]`.
    """
    found = [Sample(kind="variants", name="reference", why="It is the solution itself.", files={})]
    samples = (assignment or load_assignment()).samples
    for place in sorted(path for path in (root / samples / "variants").glob("*") if path.is_dir()):
        told = read_toml(place / EXPECTED, "the description of a variant")
        if unknown := set(told) - {"why", "over", "without", "share"}:
            raise UsageError(f"{place / EXPECTED}: unknown {', '.join(sorted(unknown))}")
        files = _files_of(place)
        if "over" in told:
            files = _files_of(place.parent / told["over"]) | files
        found.append(
            Sample(
                kind="variants",
                name=place.name,
                why=told.get("why", ""),
                files=files,
                without=tuple(told.get("without", ())),
                expected=told.get("share", {}),
            )
        )
    return found


def _files_of(variant: Path) -> dict[str, bytes]:
    """Return relative path -> content for the files that a variant's folder lays over the reference."""
    if not (variant / EXPECTED).is_file():
        raise UsageError(f"expected a variant's folder with {EXPECTED} at {variant}")
    files = [path for path in sorted(variant.rglob("*")) if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(variant).as_posix(): path.read_bytes() for path in files if path != variant / EXPECTED}


KINDS: dict[str, Callable[[Path, Assignment | None], list[Sample]]] = {"mutants": load_mutants, "variants": load_variants}


def load_samples(
    kinds: tuple[str, ...] = tuple(KINDS),
    only: Sequence[str] = ("*",),
    root: Path = ROOT,
    assignment: Assignment | None = None,
) -> list[Sample]:
    """Return the samples of an assignment, by default the main one, of these kinds whose names match one of the patterns.

    Raises:
        UsageError: two samples have the same name, a check is unknown, or no name matches a pattern.
    """
    assignment = assignment or load_assignment()
    samples = [sample for kind in kinds for sample in KINDS[kind](root, assignment)]
    known = {check.id for check in assignment.checks}
    names = [(sample.kind, sample.name) for sample in samples]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"expected samples of different names; twice: {doubled}")
    strange = [(sample, sorted({*sample.expected, *sample.luck} - known)) for sample in samples]
    if named := [f"{sample.kind} {sample.name} ({', '.join(unknown)})" for sample, unknown in strange if unknown]:
        raise UsageError(f"expected checks of the assignment in each sample; others are in {', '.join(named)}")
    for pattern in only:
        if not any(fnmatchcase(sample.name, pattern) for sample in samples):
            example = samples[0].name if samples else "*"
            raise UsageError(f"expected a pattern that matches the name of a sample, such as {example}; got {pattern!r}")
    return [sample for sample in samples if any(fnmatchcase(sample.name, pattern) for pattern in only)]


def checks_for(sample: Sample, assignment: Assignment, *, long: bool = False) -> tuple[list[Check], list[str]]:
    """Return the checks to run on a sample, and the ids of those that its files can decide but that take too long."""
    names = checks_decided_by(sample.files.keys() | set(sample.without) or {""}, assignment)
    able = [check for check in assignment.checks if any(check.is_of(name) for name in names)]
    slow = {i for ids in assignment.long_checks.values() for i in ids}
    left_out = [check.id for check in able if not long and check.id in slow and check.id not in sample.expected]
    return [check for check in able if check.id not in left_out], left_out


def run_sample(
    sample: Sample, out: Path, sandbox: Sandbox, seed: int, *, long: bool = False, assignment: Assignment | None = None
) -> SampleRow:
    """Grade one sample into `out/KIND/NAME`, or reuse the results of an earlier run of exactly the same work."""
    assignment = assignment or load_assignment()
    checks, not_run = checks_for(sample, assignment, long=long)
    folder = out / "submissions" / sample.kind / sample.name
    lay_out(sample, folder, assignment)
    assignment = replace(assignment, checks=tuple(checks))
    profile = LONG_PROFILE if long else BRIEF_PROFILE
    done = out / sample.kind / sample.name
    order = Order(assignment, profile, out / sample.kind, sandbox, seed=seed)
    results = _earlier(done, Identity.of(read_submission(folder, assignment), order), seed)
    if results is None:
        results = grade(folder, order)
    verdicts = {verdict.id: verdict for verdict in results.program}
    return SampleRow(
        kind=sample.kind,
        name=sample.name,
        seed=seed,
        expected=sample.expected,
        ran=tuple(verdicts),
        not_run=tuple(not_run),
        failed={i: verdict.message for i, verdict in verdicts.items() if verdict.status != PASSED},
        faults=find_faults(sample, verdicts),
        seconds=results.seconds,
    )


def find_faults(sample: Sample, verdicts: Mapping[str, Verdict]) -> dict[str, str]:
    """Return check -> how its verdict differs from the expected one; empty if every verdict is as expected."""
    faults = {i: "did not run" for i in sample.expected if i not in verdicts}
    for i, verdict in verdicts.items():
        share = verdict.points / verdict.max_points
        if verdict.status == COULD_NOT_GRADE:
            faults[i] = "could not be graded"
        elif i in sample.luck:
            continue
        elif i not in sample.expected:
            if verdict.status != PASSED:
                faults[i] = f"gave {share:.0%}"
        elif verdict.status == PASSED:
            faults[i] = "noticed nothing"
        elif (expected := sample.expected[i]) is not None and abs(share - expected) > 0.005:
            faults[i] = f"gave {share:.0%} instead of {expected:.0%}"
    if sample.says and not faults:
        first = next(iter(sample.expected))
        if sample.says not in verdicts[first].message:
            faults[first] = f"does not say {sample.says!r}"
    return faults


def lay_out(sample: Sample, folder: Path, assignment: Assignment | None = None) -> None:
    """Write a sample's submission into a folder, replacing anything there."""
    shutil.rmtree(folder, ignore_errors=True)
    reference = ROOT / (assignment or load_assignment()).reference
    shutil.copytree(reference, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for path in sample.without:
        if not (folder / path).exists():
            raise UsageError(f"{sample.kind} {sample.name}: expected {path} in the reference, to leave it out; it is not there")
        if (folder / path).is_dir():
            shutil.rmtree(folder / path)
        else:
            (folder / path).unlink()
    for path, content in sample.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def _earlier(folder: Path, identity: Identity, seed: int) -> Results | None:
    """Return the results of a finished run of the same work, or None if there is no such run."""
    record = RunRecord.read(folder)
    return finished_results(folder, identity) if record is not None and record.seed == seed else None


def _mutants_in(path: Path) -> list[dict[str, Any]]:
    data = read_toml(path, "mutants")
    if strange := sorted(set(data) - {"mutant"}):
        raise UsageError(f"{path}: expected tables [[mutant]] and nothing else; got {', '.join(strange)}")
    return list(data.get("mutant", []))


def reliability(rows: Sequence[SampleRow]) -> list[str]:
    """Return a line for each check: in how many runs it was wrong, and the upper end of the 95 % Wilson interval."""
    runs = Counter(i for row in rows for i in row.ran)
    wrong = Counter(i for row in rows for i in row.faults)
    width = max(map(len, runs), default=0)
    return [
        f"{i:{width}}  wrong in {wrong[i]} of {count} runs, below {wilson_95(wrong[i], count)[1]:.2%}"
        for i, count in runs.items()
    ]


@dataclass(frozen=True)
class TrustOptions:
    """What to grade, and how.

    Attributes:
        only: patterns, one of which a sample's name must match.
        kinds: kinds of samples, among KINDS.
        out: folder for the results.
        long: whether the checks that take minutes run too.
        jobs: how many samples are graded at once.
        lab: the lab whose samples they are; empty for the main assignment.
    """

    only: tuple[str, ...] = ("*",)
    kinds: tuple[str, ...] = tuple(KINDS)
    seeds: range = range(1, 2)
    out: Path = OUT
    long: bool = False
    jobs: int = 1
    lab: str = ""


def main(options: TrustOptions, announce: Announce) -> int:
    """Grade the samples with each seed and print the tables; return 0 if every row is as expected, else 1."""
    assignment = load_named(options.lab)
    samples, sandbox = load_samples(options.kinds, options.only, assignment=assignment), find_sandbox()
    announce(sandbox.sentence)
    width, out = max(len(sample.name) for sample in samples), options.out / options.lab
    runs = [(seed, sample) for seed in options.seeds for sample in samples]
    started = time.monotonic()
    rows: list[SampleRow] = []
    out.mkdir(parents=True, exist_ok=True)
    announce(f"{'kind':8}  {'name':{width}}  seed  expected | failed | ok")
    pool = ProcessPoolExecutor(options.jobs, initializer=signal.signal, initargs=(signal.SIGINT, signal.SIG_IGN))
    with pool, _killing_workers():
        run = partial(_run_one, out.resolve(), sandbox, options.long, assignment)
        for row in pool.map(run, runs):
            rows.append(row)
            expected = ", ".join(i if share is None else f"{i} {share:.0%}" for i, share in row.expected.items())
            verdict = f"NO: {row.wrong}" if row.wrong else "yes"
            failed = ", ".join(row.failed) or "none"
            announce(f"{row.kind:8}  {row.name:{width}}  {row.seed:4}  {expected or 'none'} | {failed} | {verdict}")
            left = (time.monotonic() - started) / len(rows) * (len(runs) - len(rows))
            announce(f"\r{len(rows)} of {len(runs)}, about {left:.0f} s left")
            write_whole(out / ROWS, json.dumps([asdict(row) for row in rows], indent=1))
    as_expected = sum(not row.faults for row in rows)
    for line in reliability(rows) if len(options.seeds) > 1 else ():
        announce(line)
    announce(f"{as_expected} of {len(rows)} as expected; the messages are in {out / ROWS}.")
    if not_run := sorted({i for row in rows for i in row.not_run}):
        announce(f"Not run because they take minutes (--long runs them): {', '.join(not_run)}.")
    return 0 if as_expected == len(rows) else 1


@contextmanager
def _killing_workers() -> Iterator[None]:
    """At Ctrl-C, kill the processes that grade, so that nobody waits for the samples in progress.

    Nothing is lost: the same command goes on with a grading that was killed.
    """
    try:
        yield
    except KeyboardInterrupt:
        for process in multiprocessing.active_children():
            process.kill()
        raise


def _run_one(out: Path, sandbox: Sandbox, long: bool, assignment: Assignment, run: tuple[int, Sample]) -> SampleRow:
    seed, sample = run
    return run_sample(sample, out / f"seed_{seed}", sandbox, seed, long=long, assignment=assignment)
