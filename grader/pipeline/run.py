"""One grading run of one submission: the input of the checks, and the verdicts that they record.

The run's folder holds
- `run.json`: how the submission is graded, and with which seed;
- `submission.zip`: the collected files, which are graded;
- `reports/`: the files for a person to read;
- `workspace/`: the tree in which the student's code runs;
- `engine/`: the student's engine, compiled;
- `verdicts.jsonl`: one line per check, appended as soon as it is decided, so that a killed run can continue;
- `games.jsonl`: the games of the match, each recorded as soon as it ends;
- `checks.log`: what pytest wrote;
- `used.txt`: how many seconds of its budget an unfinished run has used;
- `report.html` and `results.json`, written at the end; the latter holds the digests of `run.json`, `submission.zip`,
  `verdicts.jsonl` and `games.jsonl`;
- `.next/`: the first files of a run that is about to take this one's place;
- `earlier/`: the runs before this one (grader/pipeline/run_folder.py).
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from common.files import write_whole
from common.torch_libraries import torch_libraries_mib
from grader.assignment import Assignment, Profile
from grader.assignment_file import load_named
from grader.confinement.sandbox import ProcessLimits, Sandbox, find_sandbox
from grader.pipeline.order import Identity
from grader.pipeline.results import COULD_NOT_GRADE, MALFORMED, RUN, SUBMISSION, VERDICTS, Verdict
from grader.pipeline.submission import Submission, read_submission

FOLDER_VARIABLE = "GRADER_RUN"
GRADER_VARIABLE = "GRADER_PROCESS"  # the process that started the checks, with which they die
WORKSPACE, ENGINE, SCRATCH, LOG = "workspace", "engine", "scratch", "checks.log"
CURRENT = f"{SCRATCH}/current.txt"
PROGRESS, USED = "progress.txt", "used.txt"
PROCESS_CPU_S = 3600  # for one process of a submission
OVERRUN = "overrun"  # key in the evidence of a check that took too long; such a check is not tried again


@dataclass(frozen=True)
class RunRecord:
    """The content of run.json.

    Attributes:
        seed: seed for positions and games.
        taken_over: ids of the checks whose verdicts come from another run.
        regrade: which checks were to be graded again, as text; empty if all were.
        request: id of the request to grade finished submissions again that this run fulfils; empty if none does.
    """

    identity: Identity
    seed: int
    taken_over: tuple[str, ...] = ()
    regrade: str = ""
    request: str = ""

    @classmethod
    def read(cls, folder: Path) -> RunRecord | None:
        """Return the record in a run's folder, or None if it is missing or damaged."""
        try:
            data = json.loads((folder / RUN).read_text(encoding="utf-8"))
            identity, taken_over = Identity.from_json(data["identity"]), tuple(data["taken_over"])
            return cls(identity, int(data["seed"]), taken_over, str(data["regrade"]), str(data.get("request", "")))
        except (OSError, *MALFORMED):
            return None

    def write(self, folder: Path) -> None:
        """Write run.json, whole or not at all."""
        data = {"identity": self.identity.to_json(), "seed": self.seed, "taken_over": list(self.taken_over)}
        data |= {"regrade": self.regrade, "request": self.request}
        write_whole(folder / RUN, json.dumps(data, indent=1, ensure_ascii=False))


def decided_so_far(folder: Path) -> dict[str, Verdict]:
    """Return check -> verdict for a run; a last line that a kill cut off does not count."""
    found: dict[str, Verdict] = {}
    try:
        lines = (folder / VERDICTS).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return found
    for line in lines:
        try:
            verdict = Verdict.from_json(json.loads(line))
        except MALFORMED:
            continue
        found[verdict.id] = verdict
    return found


def settled(verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    """Return the verdicts of a killed run that stand when it is continued; the other checks are tried again."""
    return {i: one for i, one in verdicts.items() if one.status != COULD_NOT_GRADE or OVERRUN in one.evidence}


class Run:
    """A run's folder, read by the checks (in pytest) and by the grader that started them.

    Attributes:
        identity: what is graded, and how.
        seed: seed for positions and games.
        requested: ids of the checks to run: the requested ones, except those whose verdicts were taken over.
    """

    def __init__(self, folder: Path, assignment: Assignment, sandbox: Sandbox) -> None:
        record = RunRecord.read(folder)
        if record is None:
            raise FileNotFoundError(f"no record of a run in {folder}")
        self.folder, self.assignment, self.sandbox = folder, assignment, sandbox
        self.identity, self.seed = record.identity, record.seed
        self.requested = frozenset(record.identity.checks) - frozenset(record.taken_over)
        self.workspace = folder / WORKSPACE
        self.profile: Profile = assignment.profile(record.identity.profile)

    @classmethod
    def from_environment(cls) -> Run:
        """Return the run that the environment variable names; the checks call this."""
        return cls.read(Path(os.environ[FOLDER_VARIABLE]))

    @classmethod
    def read(cls, folder: Path, level: str | None = None) -> Run:
        """Return the run in a folder, with its assignment and, unless another level is given, its level of confinement."""
        record = RunRecord.read(folder)
        assignment = load_named(record.identity.assignment if record else "")
        return cls(folder, assignment, find_sandbox(level or (record.identity.sandbox if record else None)))

    @property
    def submission(self) -> Submission:
        """The submission's collected files, as they were when the run began."""
        kept = read_submission(self.folder / SUBMISSION, self.assignment, at_the_top=True)
        return replace(kept, name=self.identity.submission)

    @property
    def worker_limits(self) -> ProcessLimits:
        limits = self.assignment.limits
        memory_mib = limits.worker_memory_mib + torch_libraries_mib()
        return ProcessLimits(memory_mib, PROCESS_CPU_S, limits.processes, limits.file_size_mib)

    @property
    def engine_limits(self) -> ProcessLimits:
        limits = self.assignment.limits
        return ProcessLimits(limits.engine_memory_mib, PROCESS_CPU_S, limits.processes, limits.file_size_mib)

    def random(self, check_id: str) -> random.Random:
        """Return a random generator for one check, seeded with the run's recorded seed and the check's id."""
        return random.Random(f"{self.seed}:{check_id}")

    @property
    def verdicts(self) -> dict[str, Verdict]:
        """Check -> verdict, for the checks decided so far."""
        return decided_so_far(self.folder)

    def record(self, verdict: Verdict) -> None:
        """Append a verdict and flush it to disk, so that it survives a power cut.

        Evidence that JSON cannot express is replaced by the reason: it must not cost the verdict, nor those of later checks.
        """
        try:
            line = json.dumps(verdict.to_json())
        except (TypeError, ValueError, RecursionError) as error:
            line = json.dumps(replace(verdict, evidence={"unwritable": repr(error)}).to_json())
        with open(self.folder / VERDICTS, "ab+") as file:
            # A kill or a full disk may have cut off the line before.
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            begin = b"\n" if file.read(1) not in (b"", b"\n") else b""
            file.write(begin + line.encode("ascii") + b"\n")
            file.flush()
            os.fsync(file.fileno())

    @property
    def current(self) -> str:
        """The check that began last; empty before the first one."""
        try:
            return (self.folder / CURRENT).read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""

    @property
    def used_s(self) -> float:
        """Seconds of its budget that the run had used when it was killed; 0 for a new run."""
        try:
            return float((self.folder / USED).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return 0.0

    @used_s.setter
    def used_s(self, seconds: float) -> None:
        write_whole(self.folder / USED, f"{seconds:.1f}")

    def begin(self, check_id: str) -> None:
        """Record that a check begins."""
        write_whole(self.folder / CURRENT, check_id)

    def progress(self, sentence: str) -> None:
        """Show the progress of a long check; an empty string clears it."""
        write_whole(self.folder / PROGRESS, sentence)
