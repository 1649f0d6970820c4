"""Run the checks of submissions on the machines of a Ray cluster: `python -m grader grade ... --ray-address HOST:PORT`.

The unit is a submission, as on one machine. The folder of its run stays on the machine that gives the command: it is laid out
there, results are added up and reported there, and every verdict and game is written there as soon as the node sends it. Ray
brings the grader's own files to the nodes, by content (its `working_dir`), and chooses the node. If a node is lost, the run is
sent to another one with all verdicts and games so far, so nothing that was finished is repeated.

A node must have the same versions of what verdicts depend on, the same confinement, and enough speed. All nodes are examined
before the first submission, and the command ends if one falls short. A node that joins later sends its first unit back and is
examined; if it falls short, a sentence says why and it gets no units.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.engine.cores import one_core
from arena.match.ray_runner import RETRIES, check_address, load_ray
from common.errors import UsageError
from common.files import remove
from common.locks import lock
from common.processes import kill_group
from grader.assignment import ROOT, Assignment
from grader.assignment_file import load_named
from grader.confinement.confine import die_with_parent
from grader.confinement.sandbox import Sandbox, find_sandbox
from grader.pipeline.grading import Ended, environment, run_checks_here, tell
from grader.pipeline.judging import grading_files
from grader.pipeline.listeners import Listener
from grader.pipeline.machine_speed import machine_speed
from grader.pipeline.opponents import build_opponent
from grader.pipeline.results import GAMES, RUN, SUBMISSION, VERDICTS
from grader.pipeline.run import LOG, PROGRESS, SCRATCH, USED, Run
from grader.pipeline.workspace import build_workspace

POLL_S = 0.5
SLOWEST = 0.5  # a node must have at least this share of the speed of the machine that gives the command
SAME = ("python", "numpy", "torch", "compiler")
"""The entries of `grader.pipeline.grading.environment` that must be the same on every node."""
SENT = (RUN, SUBMISSION, VERDICTS, GAMES, USED)
GROWING = (VERDICTS, GAMES, LOG)  # a node sends what was appended
REPLACED = (PROGRESS, USED)  # a node sends the whole content
ENDED = "ended.json"
PLACE = "gomoku-grading-"  # how the name of a run's folder on a node begins
ABANDONED_S = 60.0  # a folder that is not locked and older than this was left by a killed run
REPLACED_TREE = "replaced"  # a node whose copy of the grader was replaced during a run sends this name at its end
NEWCOMER = "newcomer"  # a node that has not been examined sends its id under this name, and nothing else


@dataclass(frozen=True)
class Machine:
    """What verdicts depend on outside this repository, on one machine.

    Attributes:
        name: host name and, on a node, its address.
        versions: the entries SAME.
        level: level of confinement.
        speed: see `arena.match.calibrate.Speed.factor`.
    """

    name: str
    versions: dict[str, str]
    level: str
    speed: float

    @classmethod
    def here(cls, name: str, assignment: Assignment, level: str) -> Machine:
        """Examine this machine; it takes a few seconds."""
        versions = environment(assignment)
        return cls(name, {key: versions[key] for key in SAME}, find_sandbox(level).level, machine_speed(assignment))

    def faults(self, other: Machine) -> Iterator[str]:
        """Yield how another machine falls short of this one."""
        for key, version in self.versions.items():
            if other.versions[key] != version:
                yield f"{key} {other.versions[key]} instead of {version}"
        if other.level != self.level:
            yield f"the confinement {other.level} instead of {self.level}"
        if other.speed < SLOWEST * self.speed:
            yield f"{other.speed / self.speed:.0%} of the speed of this machine, where at least {SLOWEST:.0%} is needed"


class Newcomer(Exception):
    """A unit came to a node that has not been examined; `node` is its id."""

    def __init__(self, node: str) -> None:
        super().__init__(node)
        self.node = node


class ReplacedTree(Exception):
    """Ray replaced the grader's files on a node during a run, because another node was started on the same machine."""


class RayChecks:
    """A `grader.pipeline.grading.RunChecks` on a cluster.

    Args:
        address: HOST:PORT of the cluster's head, or "auto" for a cluster that was started on this machine.

    Raises:
        UsageError: ray is not installed, no cluster answers, or a node cannot be used; the message says why.
    """

    def __init__(self, address: str, assignment: Assignment, sandbox: Sandbox) -> None:
        ray = self._ray = load_ray()
        check_address(address)
        self._assignment = assignment.id
        self._tree = tempfile.TemporaryDirectory(prefix="gomoku-grader-")
        lay_out_tree(Path(self._tree.name), assignment)
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        there = {"working_dir": self._tree.name, "env_vars": {"RAY_kill_child_processes_on_worker_exit": "0"}}
        try:
            ray.init(address, log_to_driver=False, logging_level=logging.ERROR, runtime_env=there)
        except (OSError, RuntimeError, ValueError) as error:
            raise UsageError(f"expected a Ray cluster at {address}; {str(error).strip().splitlines()[0]}") from error
        try:
            self._here = Machine.here("this machine", assignment, sandbox.level)
            self.machines, refused = self._examined(self._nodes())
            if refused:
                reasons = ". ".join(refused.values())
                raise UsageError(f"{reasons}. Fix this, or stop Ray there (ray stop), and run the command again")
        except BaseException:
            self.close()
            raise
        self.cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._checks = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(_run_checks_there)
        self._refused: dict[str, str] = {}
        self._examining = threading.Lock()

    def close(self) -> None:
        """Leave the cluster."""
        self._ray.shutdown()
        self._tree.cleanup()

    def _nodes(self) -> list[dict[str, Any]]:
        return [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]

    def _examined(self, nodes: Sequence[dict[str, Any]]) -> tuple[dict[str, Machine], dict[str, str]]:
        """Return node -> machine, and node -> why it cannot be used."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ray, waiting = self._ray, {}
        for node in nodes:
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']}, node {node['NodeID'][:8]})"
            examine = ray.remote(num_cpus=1, scheduling_strategy=place, max_retries=0)(_examine)
            waiting[node["NodeID"]] = (name, examine.remote(name, self._assignment, self._here.level))
        machines: dict[str, Machine] = {}
        refused: dict[str, str] = {}
        for node_id, (name, reference) in waiting.items():
            try:
                machine = ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                refused[node_id] = f"the node {name} cannot grade: {error.cause}"
            except ray.exceptions.RayError as error:
                refused[node_id] = f"the node {name} was lost: {type(error).__name__}"
            else:
                if faults := list(self._here.faults(machine)):
                    refused[node_id] = f"the node {name} has {'; '.join(faults)}"
                else:
                    machines[node_id] = machine
        return machines, refused

    def _admit(self, newcomer: str, listener: Listener) -> None:
        """Examine a node that joined after the start, once; say why if it gets no units."""
        with self._examining:
            if newcomer in self.machines or newcomer in self._refused:
                return
            machines, refused = self._examined([node for node in self._nodes() if node["NodeID"] == newcomer])
            self.machines |= machines
            self._refused |= refused
        for reason in refused.values():
            listener.say(f"{reason}. It joined after the start and gets no submissions; stop Ray there (ray stop).")

    def _start(self, run: Run) -> Any:
        """Send a run to a node that Ray chooses among those that are not refused."""
        from ray.util.scheduling_strategies import NodeLabelSchedulingStrategy, NotIn

        checks = self._checks
        if refused := [node for node in self._nodes() if node["NodeID"] in self._refused]:
            (label,) = {name for node in refused for name, value in node["Labels"].items() if value == node["NodeID"]}
            place = NodeLabelSchedulingStrategy(hard={label: NotIn(*(node["NodeID"] for node in refused))})
            checks = checks.options(scheduling_strategy=place)
        return checks.remote(_content(run.folder, SENT), run.sandbox.level, frozenset(self.machines))

    def __call__(self, run: Run, listener: Listener, stopping: threading.Event) -> Ended:
        """See `grader.pipeline.grading.RunChecks`."""
        said, lost = set[str](), 0
        while lost <= RETRIES:
            parts = self._start(run)
            try:
                return self._followed(parts, run, said, listener, stopping)
            except Newcomer as error:
                self._admit(error.node, listener)
            except ReplacedTree:
                lost += 1
                listener.say(
                    f"{run.identity.submission}: a node that was started on the same machine interrupted it; it goes on."
                )
            except self._ray.exceptions.RayTaskError as error:
                if isinstance(error.cause, (UsageError, OSError)):  # Ray's own copy of an OSError has no errno
                    raise error.cause from None
                raise
            except self._ray.exceptions.RayError as error:
                lost += 1
                listener.say(f"{run.identity.submission}: a node was lost ({type(error).__name__}); another node continues.")
            finally:
                with suppress(self._ray.exceptions.RayError):
                    self._ray.cancel(parts, force=True)
        raise UsageError(
            f"{run.identity.submission} could not be graded: Ray lost each of the {RETRIES + 1} nodes that it was given to; "
            "check the memory of the nodes"
        )

    def _followed(self, parts: Any, run: Run, said: set[str], listener: Listener, stopping: threading.Event) -> Ended:
        """Write what the node sends into the run's folder until the checks have ended there."""
        while True:
            ready, _ = self._ray.wait([parts], timeout=POLL_S)
            if stopping.is_set():
                raise KeyboardInterrupt
            if not ready:
                continue
            part: dict[str, bytes] = self._ray.get(next(parts))
            if NEWCOMER in part:
                raise Newcomer(part[NEWCOMER].decode())
            if REPLACED_TREE in part:
                raise ReplacedTree
            for name, content in part.items():
                if name in GROWING:
                    with open(run.folder / name, "ab") as file:
                        file.write(content)
                        file.flush()
                        os.fsync(file.fileno())
                elif name in REPLACED:
                    (run.folder / name).write_bytes(content)
            tell(run, said, listener)
            if ENDED in part:
                with suppress(self._ray.exceptions.RayError):  # the node could be lost now without harm
                    for _ in parts:  # it is removing its files, and must not be interrupted
                        pass
                data = json.loads(part[ENDED])
                machine = self.machines[data.pop("node")]
                about = {"node": machine.name, "speed": f"{machine.speed:.2f}"}
                return Ended(data["code"], data["log"], {**data["environment"], **about})


def lay_out_tree(place: Path, assignment: Assignment) -> None:
    """Copy what a node needs to run the checks."""
    for name in grading_files(assignment):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, place / name)


def _content(folder: Path, names: Sequence[str]) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in names if (folder / name).is_file()}


# ------------------------------------------------------------------------------------------ sent to and run on a node


def _examine(name: str, assignment: str, level: str) -> Machine:
    return Machine.here(name, load_named(assignment), level)


def _run_checks_there(files: dict[str, bytes], level: str, examined: frozenset[str]) -> Iterator[dict[str, bytes]]:
    """Run the checks in a process of their own, and yield what they write: file -> content that is new.

    Args:
        examined: ids of the nodes that may run checks; any other one only yields its id.
    """
    import ray

    node = ray.get_runtime_context().get_node_id()
    if node not in examined:
        yield {NEWCOMER: node.encode()}
        return
    with _place_of_a_run() as place, tempfile.TemporaryFile() as said, one_core():
        folder = place / "run"
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
        sent = {name: len(files.get(name, b"")) for name in GROWING}
        shown: dict[str, bytes] = {}
        tree, copy = os.getcwd(), _copy_of_the_grader()
        process = subprocess.Popen(
            [sys.executable, "-m", "grader.pipeline.ray_grading", str(folder), level],
            env={**os.environ, "PYTHONPATH": tree},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        try:
            ended = False
            while not ended:
                time.sleep(POLL_S)
                ended = process.poll() is not None
                part = _new_content(folder, sent, shown)
                if part and not ended:
                    yield part
            if _copy_of_the_grader() != copy:
                yield {REPLACED_TREE: b""}
                return
            if not (folder / ENDED).exists():
                said.seek(0)
                lines = said.read().decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
                raise UsageError(f"the checks could not be run on {os.uname().nodename}: {lines[-1]}")
            data = json.loads((folder / ENDED).read_text(encoding="utf-8"))
            data["node"] = node
            yield {**part, ENDED: json.dumps(data).encode()}
        finally:
            kill_group(process)


def _copy_of_the_grader() -> tuple[int, int] | None:
    """Identify the files of the grader here, which Ray replaces when another node is started on the same machine."""
    try:
        about = os.stat(__file__)
    except FileNotFoundError:
        return None
    return about.st_ino, about.st_ctime_ns


@contextmanager
def _place_of_a_run() -> Iterator[Path]:
    """Make a temporary folder for one run, after removing those that killed runs of this user have left here."""
    for left in Path(tempfile.gettempdir()).glob(f"{PLACE}*"):
        with suppress(OSError), _opened(left) as descriptor:
            about = os.fstat(descriptor)
            if about.st_uid == os.getuid() and time.time() - about.st_mtime > ABANDONED_S and lock(descriptor):
                remove(left)
    with tempfile.TemporaryDirectory(prefix=PLACE) as place, _opened(Path(place)) as descriptor:
        with suppress(OSError):  # a file system without locks, where nothing is removed either
            lock(descriptor)
        yield Path(place)


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _new_content(folder: Path, sent: dict[str, int], shown: dict[str, bytes]) -> dict[str, bytes]:
    """Return what was written since the last call: whole lines of files that grow, and other files that changed."""
    part = {}
    for name in GROWING:
        if (folder / name).exists():
            new = (folder / name).read_bytes()[sent[name] :]
            new = new[: new.rfind(b"\n") + 1]
            sent[name] += len(new)
            if new:
                part[name] = new
    for name, content in _content(folder, REPLACED).items():
        if shown.get(name) != content:
            part[name] = shown[name] = content
    return part


def main(folder: Path, level: str) -> None:
    """Run the checks of a run that was sent to this node."""
    run = Run.read(folder, level)
    assignment = run.assignment
    build_workspace(assignment, run.submission, run.workspace)
    (folder / SCRATCH).mkdir()
    for opponent in assignment.opponents:
        build_opponent(opponent, assignment)
    ended = run_checks_here(run, Listener(), threading.Event())
    (folder / ENDED).write_text(json.dumps(ended.__dict__), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
