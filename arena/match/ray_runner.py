"""Games as Ray tasks: the same games as those of `ThreadRunner`, on the machines of a Ray cluster.

Each game is one task for one CPU and is played from beginning to end in one Ray worker, which is a separate process: if it is
killed, its guardian ends its engines. If the worker or node of a task dies, Ray gives the task to another one (`max_retries`),
which plays the game from its first move with the same seeds. Records come back to this process, which accepts one for each
game. So a game that was played twice counts once, and a node that dies later does not matter.

The framework, the engines and the folder in which the match was started must have the same paths on every node, and the
engines must be the same files. If they are missing on a node, no agent is to blame, so the match ends with an error message.
"""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import socket
import sys
import threading
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from arena.engine.cores import available_cores, one_core
from arena.engine.engine_process import EngineSpec
from arena.match.records import digest, files_named
from arena.match.referee import GameRecord, play_game
from arena.match.setup import GameTask
from common.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
RETRIES = 3  # how often Ray retries a task whose worker or node died
TASKS_AT_ONCE = 1000  # tasks submitted at once if the cluster decides how many games are played in parallel
ANSWER_S = 5.0
END_S = 10.0
POLL_S = 0.2
# Ray speaks gRPC and so HTTP/2 (RFC 9113, sections 3.4 and 6.5). The client sends its preface with an empty SETTINGS frame, and
# the server answers with a SETTINGS frame.
SETTINGS = b"\x04"
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0\0\0\0\0"


class RayRunner:
    """Plays games in parallel on a Ray cluster.

    Args:
        workers: number of games at once; if None, as many as the cluster has CPUs.
        address: HOST:PORT of the cluster's head, or "auto" for a cluster that was started on this machine. If None, a cluster
            with `workers` CPUs, but no more than there are cores, is started on this machine for the match.

    Raises:
        UsageError: ray is not installed, or no cluster answers at the address.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        load_ray()
        if address is not None:
            check_address(address)
        cores = available_cores()
        self.workers = workers if address is not None else max(1, min(workers or cores, cores))
        self.address = address

    def __call__(self, tasks: Iterable[GameTask]) -> Generator[GameRecord, None, None]:
        ray = load_ray()
        connected_here = connect(self.address, self.workers)
        there = {"PYTHONPATH": str(ROOT), "RAY_kill_child_processes_on_worker_exit": "0"}  # the guardian kills them instead
        play = ray.remote(num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": there})(_play)
        left = iter(tasks)
        waiting: dict[Any, GameTask] = {}
        try:
            while True:
                for task in islice(left, (self.workers or TASKS_AT_ONCE) - len(waiting)):
                    waiting[play.remote(*_parcel(task))] = task
                if not waiting:
                    return
                finished, _ = ray.wait(list(waiting), num_returns=1)
                for reference in finished:
                    yield _record(ray, reference, waiting.pop(reference))
        finally:
            _cancel(ray, list(waiting))
            if connected_here:
                ray.shutdown()


def connect(address: str | None, cpus: int | None) -> bool:
    """Connect to the cluster at an address or, if it is None, start one with `cpus` CPUs on this machine.

    Returns:
        Whether the connection is new.

    Raises:
        UsageError: there is no cluster at the address, or none can be started.
    """
    ray = load_ray()
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    own = {"num_cpus": cpus, "include_dashboard": False} if address is None else {}
    try:
        ray.init(address or "local", log_to_driver=False, logging_level=logging.ERROR, **own)
    except (OSError, RuntimeError, ValueError) as error:
        where = f"at {address}" if address else "to start on this machine"
        raise UsageError(f"expected a Ray cluster {where}; {str(error).strip().splitlines()[0]}") from error
    return True


def load_ray() -> Any:
    """Import the package ray, which is only needed for matches on a cluster.

    Raises:
        UsageError: ray is not installed.
    """
    try:
        import ray
    except ImportError:
        install = f"{sys.executable} -m pip install 'ray>=2.40'"
        raise UsageError(f"expected the package ray for games on a cluster; it is not installed: {install}") from None
    return ray


def check_address(address: str) -> None:
    """Check that some server that may be Ray listens at the address. Ray itself would retry for minutes and log each attempt.

    Raises:
        UsageError: no such server answers, or the address is malformed.
    """
    if address == "auto":
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise UsageError(f"expected a Ray cluster's address as HOST:PORT, or auto; got {address!r}")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER_S) as connection:
            connection.sendall(GREETING)
            answer = connection.recv(9)
    except OSError as error:
        raise UsageError(
            f"expected a Ray cluster at {address}; nothing answers there ({error.strerror or error}): run ray start --head"
        ) from error
    if answer[3:4] != SETTINGS and os.environ.get("RAY_USE_TLS", "0") == "0":
        raise UsageError(f"expected a Ray cluster at {address}; another program answers there: run ray start --head")


def _record(ray: Any, reference: Any, task: GameTask) -> GameRecord:
    """Return the record of the game that a finished task played."""
    try:
        record: GameRecord = ray.get(reference)
        return record
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UsageError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        raise UsageError(
            f"game {task.index} could not be played: Ray lost each of the {RETRIES + 1} workers that it was given to "
            f"({type(error).__name__}); check the memory of the nodes"
        ) from error


def _cancel(ray: Any, references: Sequence[Any]) -> None:
    """End the games in progress.

    On return their engines are gone, unless a worker took longer than END_S seconds: it is killed, and its guardian ends them.
    """
    with contextlib.suppress(ray.exceptions.RayError):
        for reference in references:
            ray.cancel(reference)
        if references:
            _, left = ray.wait(list(references), num_returns=len(references), timeout=END_S)
            for reference in left:
                ray.cancel(reference, force=True)


# ------------------------------------------------------------------------------------------ sent to and run on a node


def _parcel(task: GameTask) -> tuple[GameTask, dict[str, str]]:
    """Return the task with absolute paths, and the sha256 of each file that it needs."""
    seats = [replace(spec, command=tuple(spec.argv), cwd=spec.cwd or os.getcwd()) for spec in (task.black, task.white)]
    return replace(task, black=seats[0], white=seats[1]), {**_files(seats[0]), **_files(seats[1])}


def _files(spec: EngineSpec) -> dict[str, str]:
    """Return path -> sha256 for the files that a command names or runs."""
    paths = [*files_named(spec.argv), *spec.files]
    return {path: found for path in paths if (found := digest(path)) is not None}


def _check(specs: Sequence[EngineSpec], files: Mapping[str, str]) -> None:
    """Check that this node has the programs, folders and files that the game needs."""
    node = f"the Ray node {platform.node()}"
    for spec in specs:
        if not os.path.exists(spec.command[0]):
            raise UsageError(f"expected {spec.command[0]} on every node; {node} does not have it")
        if spec.cwd is not None and not os.path.isdir(spec.cwd):
            raise UsageError(f"expected the folder {spec.cwd} on every node; {node} does not have it")
    for path, wanted in files.items():
        if (found := digest(path)) != wanted:
            raise UsageError(f"expected the same {path} on every node; {node} has {'another' if found else 'none'}")


def _play(task: GameTask, files: Mapping[str, str]) -> GameRecord:
    """Play one game in a Ray worker. If the task is cancelled, the wait is interrupted and the game ends without a record."""
    _check((task.black, task.white), files)
    stopping = threading.Event()

    def play() -> GameRecord:
        with one_core():
            return play_game(task, stopping=stopping)

    with ThreadPoolExecutor(1) as pool:
        game, ended = pool.submit(play), threading.Event()
        game.add_done_callback(lambda _: ended.set())
        try:
            while not ended.wait(POLL_S):  # wait in short steps: an interrupt raised inside the process does not end a wait
                pass
            return game.result()
        finally:
            stopping.set()
