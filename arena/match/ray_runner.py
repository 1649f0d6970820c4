"""Games as Ray tasks: the same games as `ThreadRunner` plays, on the machines of a Ray cluster.

Each game is one task of one CPU and is played whole in a Ray worker, a process of its own: if that is killed, its guardian
ends its engines. A task whose worker or node dies is given to another one by Ray (`max_retries`), from its first move and with
the same seeds. Who is answered is this process: it takes one record for each game, so a game that was played twice counts
once, and what it has taken stays whatever happens to a node.

The framework, the engines and the folder that the match is started in must lie under the same paths on every node, and the
engines must be the same files there; a node without them ends the match with a sentence, since it is nobody's loss.
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
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from arena.engine.cores import available_cores, one_core
from arena.engine.engine_process import EngineSpec
from arena.match.records import digest
from arena.match.referee import GameRecord, play_game
from arena.match.setup import GameTask
from common.errors import UsageError

ROOT = Path(__file__).resolve().parents[2]
RETRIES = 3  # Ray's, for a task whose worker or node died
HANDED_OVER = 1000  # tasks at once, where the number of games at once is the cluster's own matter
ANSWER_S = 5.0
END_S = 10.0
POLL_S = 0.2
# HTTP/2, which gRPC and so Ray speaks (RFC 9113, sections 3.4 and 6.5): the client's preface with an empty SETTINGS frame,
# which is answered by one.
SETTINGS = b"\x04"
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + SETTINGS + b"\0\0\0\0\0"


class RayRunner:
    """Plays games side by side on a Ray cluster.

    Args:
        workers: games at once; as many as the cluster has CPUs if None.
        address: HOST:PORT of the cluster's head, or "auto" for one that was started on this machine. If None, a cluster is
            started on this machine for the match, of `workers` CPUs but at most its cores.

    Raises:
        UsageError: ray is not installed, or nothing answers at the address.
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
        there = {"PYTHONPATH": str(ROOT), "RAY_kill_child_processes_on_worker_exit": "0"}  # the guardian ends them all
        play = ray.remote(num_cpus=1, max_retries=RETRIES, runtime_env={"env_vars": there})(_play)
        left = iter(tasks)
        waiting: dict[Any, GameTask] = {}
        try:
            while True:
                for task in islice(left, (self.workers or HANDED_OVER) - len(waiting)):
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
    """Connect to the cluster at an address or, if it is None, to one of so many CPUs that is started on this machine.

    Returns:
        Whether there was no connection to a cluster before.

    Raises:
        UsageError: there is none, or none can be started.
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
    """The package, which only who asks for a cluster needs.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import ray
    except ImportError:
        install = f"{sys.executable} -m pip install 'ray>=2.40'"
        raise UsageError(f"expected the package ray for games on a cluster; it is not installed: {install}") from None
    return ray


def check_address(address: str) -> None:
    """See that something that may be Ray listens there; Ray itself would try for minutes and log each time.

    Raises:
        UsageError: nothing does, or the address is none.
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
        raise UsageError(f"expected a Ray cluster at {address}; what answers there is none: run ray start --head")


def _record(ray: Any, reference: Any, task: GameTask) -> GameRecord:
    """The game of a finished task."""
    try:
        record: GameRecord = ray.get(reference)
        return record
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, UsageError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        raise UsageError(
            f"game {task.index} could not be played: Ray lost each worker that it was given to, {RETRIES + 1} at most "
            f"({type(error).__name__}); look at the memory of its nodes"
        ) from error


def _cancel(ray: Any, references: Sequence[Any]) -> None:
    """End the games in progress; when this returns, their engines are gone."""
    with contextlib.suppress(ray.exceptions.RayError):
        for reference in references:
            ray.cancel(reference)
        if references:
            _, left = ray.wait(list(references), num_returns=len(references), timeout=END_S)
            for reference in left:
                ray.cancel(reference, force=True)


# ------------------------------------------------------------------------------------------ what travels, and there


def _parcel(task: GameTask) -> tuple[GameTask, dict[str, str]]:
    """The task in words that mean the same in another folder, and the sha256 of the files that it needs."""
    seats = [replace(spec, command=tuple(spec.argv), cwd=spec.cwd or os.getcwd()) for spec in (task.black, task.white)]
    return replace(task, black=seats[0], white=seats[1]), {**_files(tuple(seats[0].argv)), **_files(tuple(seats[1].argv))}


def _files(argv: tuple[str, ...]) -> dict[str, str]:
    """Path -> sha256 of the files that a command names, but for Python itself, which may differ in a patch level."""
    named = [part for part in argv if os.path.isabs(part) and os.path.isfile(part) and part != sys.executable]
    return {path: found for path in named if (found := digest(path)) is not None}


def _check(specs: Sequence[EngineSpec], files: Mapping[str, str]) -> None:
    """Whether this node has what the game needs."""
    node = f"the Ray node {platform.node()}"
    for spec in specs:
        if not os.path.exists(spec.command[0]):
            raise UsageError(f"expected {spec.command[0]} on every node; {node} has none")
        if spec.cwd is not None and not os.path.isdir(spec.cwd):
            raise UsageError(f"expected the folder {spec.cwd} on every node; {node} has none")
    for path, wanted in files.items():
        if (found := digest(path)) != wanted:
            raise UsageError(f"expected the same {path} on every node; {node} has {'another' if found else 'none'}")


def _play(task: GameTask, files: Mapping[str, str]) -> GameRecord:
    """One game, in a Ray worker; a cancelled task is interrupted here, and the game ends as one of a stopped match."""
    _check((task.black, task.white), files)
    stopping = threading.Event()

    def play() -> GameRecord:
        with one_core():
            return play_game(task, stopping=stopping)

    with ThreadPoolExecutor(1) as pool:
        game = pool.submit(play)
        try:
            while not game.done():
                wait([game], POLL_S)  # an interrupt from within the process wakes nobody
            return game.result()
        finally:
            stopping.set()
