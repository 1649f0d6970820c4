"""The members of a run as Ray actors on the machines of a cluster; the learner stays where the run was started.

The framework and the student's network must be under the same paths on every node. An actor that is lost with its node is
replaced by a new one with a new number. Its games in flight are lost, and no game is played twice.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from arena.match.ray_runner import check_address, connect, load_ray
from common.errors import UsageError
from training.selfplay.presets import RunConfig
from training.selfplay.workers import Seeds, make_member

LOSSES = 3  # a run ends if it loses more actors than this with no result in between


class RayCrew:
    """See Crew.

    Args:
        config: the settings of the run.
        seeds: the seeds of the run.
        workers: the number of workers for self-play; the evaluator is an additional actor.
        address: HOST:PORT of the cluster's head, or "auto" for a cluster that was started on this machine.

    Raises:
        UsageError: ray is not installed, nothing answers at the address, or the cluster has too few CPUs.
    """

    def __init__(self, config: RunConfig, seeds: Seeds, workers: int, address: str) -> None:
        self._ray = load_ray()
        check_address(address)
        connect(address, None)
        self.workers = workers
        cpus = int(self._ray.cluster_resources().get("CPU", 0))
        if cpus < workers + 1:
            raise UsageError(f"expected a CPU for each of {workers + 1} processes in the cluster; it has {cpus}: set --workers")
        self._config, self._seeds = config, seeds
        self._numbers = self._lost = 0
        self._actors = [self._make(member) for member in range(workers + 1)]
        self._weights: list[Any] = [None] * (workers + 1)
        self._waiting: dict[Any, tuple[int, str, tuple[Any, ...]]] = {}

    def _make(self, member: int) -> Any:
        path = [os.path.abspath(folder) for folder in sys.path]
        there = {"PYTHONPATH": os.pathsep.join(path)}
        actor = self._ray.remote(num_cpus=1, runtime_env={"env_vars": there})(_Member)
        number, self._numbers = self._numbers, self._numbers + 1
        return actor.remote(path, self._config, self._seeds, number, member < self.workers)

    def start(self, member: int, method: str, *arguments: Any) -> None:
        """See Crew."""
        if method == "play":
            self._weights[member] = arguments[0] or self._weights[member]
        self._waiting[self._actors[member].call.remote(method, arguments)] = member, method, arguments

    def next_result(self) -> tuple[int, Any]:
        """See Crew."""
        while True:
            ready, _ = self._ray.wait(list(self._waiting), num_returns=1)
            member, method, arguments = self._waiting.pop(ready[0])
            try:
                result = self._ray.get(ready[0])
            except self._ray.exceptions.RayActorError as error:
                self._lost += 1
                if self._lost > LOSSES:
                    raise UsageError(
                        f"expected the Ray cluster to keep its actors; it lost {self._lost} of them one after another "
                        f"({str(error).strip().splitlines()[0]}). Continue with --resume"
                    ) from error
                self._actors[member] = self._make(member)
                self.start(member, method, *((self._weights[member],) if method == "play" else arguments))
                continue
            self._lost = 0
            return member, result

    def close(self) -> None:
        """See Crew."""
        for actor in self._actors:
            self._ray.kill(actor)
        self._ray.shutdown()


class _Member:
    """An actor that imports the student's network from the same path as the learner."""

    def __init__(self, path: list[str], config: RunConfig, seeds: Seeds, number: int, is_worker: bool) -> None:
        sys.path[:0] = path  # Ray puts the folder of the learner's process before PYTHONPATH
        self._member = make_member(config, seeds, number, is_worker)

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Carry out a task and return its result."""
        return getattr(self._member, method)(*arguments)
