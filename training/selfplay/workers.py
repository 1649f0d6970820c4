"""The members of a run that play games: workers for self-play and one evaluator, in this process or in their own processes.

Each member computes its own network, or one more process computes that of all workers (`training.inference.server`).

A crew starts tasks (`start`) and returns their results later, in any order (`next_result`). A member does one task at a time
and keeps its state between tasks; a worker, for example, keeps its games in flight. Weights are sent as the bytes of a
state_dict, so that a member can run on any machine (`ray_workers.py`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

import numpy as np
import torch

from arena.statistics.estimates import GameResult, elo
from arena.statistics.stopping import Sprt
from common.errors import UsageError
from common.subnormals import flush_subnormals
from training.freed_memory import keep_freed_memory
from training.inference.evaluators import InferenceNetwork, PositionCache, RandomSymmetry
from training.inference.server import ServedNetwork, serve_network
from training.matches import MatchSettings, PlayedGame, PlayedMatch, SearchAgent, play_lockstep_match
from training.samples import FinishedGame
from training.search.puct import PuctSettings
from training.search.rollouts import make_rollouts
from training.selfplay.game_stream import SelfPlay
from training.selfplay.presets import RunConfig
from training.selfplay.worker_networks import OwnNetwork, network_with

END_S = 10.0  # time allowed for a killed process to end
SERVER_IS_GONE = 3  # the exit code of a worker that lost the process that computes its network
SIDE_BY_SIDE = 64  # games of a match at once
TASK_S = 10.0  # after this time, a worker's task ends with its next move, even if no game has ended

Seeds = tuple[int, int]
"""The seed of the run and the number of its start."""


def member_rng(seeds: Seeds, number: int) -> np.random.Generator:
    """Return the random generator of a member.

    NumPy fills short seeds up with zeros, so that [seed, start, 0] would be [seed, start], the seed of a training step.
    """
    return np.random.default_rng([*seeds, number + 1])


@dataclass(frozen=True)
class Played:
    """The result of a worker's task.

    Attributes:
        worker: the number of the worker.
        games: the games that ended; none if that takes longer than a task.
        first: the number of the first of these games, counted by the worker.
        evaluations: the number of positions that the network evaluated during the task, in all games of the worker.
        cpu_s: the CPU time of the task, in all games of the worker, with the server's share of it.
        computed_by: how the worker computes the network, such as `openvino, bfloat16 on cpu`.
    """

    worker: int
    games: list[FinishedGame]
    first: int
    evaluations: int
    cpu_s: float
    computed_by: str


class SelfPlayWorker:
    """Plays games of a network against itself, many side by side.

    Args:
        config: the settings of the run.
        seeds: the seeds of the run.
        number: the number of the worker; each worker has its own random generator.
        server: the pipe to the process that computes the network; None to compute it here.
    """

    def __init__(self, config: RunConfig, seeds: Seeds, number: int, server: Connection | None = None) -> None:
        self._config, self._number = config, number
        self._rng = member_rng(seeds, number)
        self._network: OwnNetwork | ServedNetwork = OwnNetwork(config) if server is None else ServedNetwork(server)
        self._games = 0
        self._selfplay = SelfPlay(config.selfplay_settings(), self._evaluate, self._rng)

    def _use(self, weights: bytes) -> None:
        self._network.use(weights)
        self._evaluator = RandomSymmetry(PositionCache(self._network), self._config.rules().symmetries, self._rng)

    def _evaluate(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate states with the latest network; games in flight switch to it at once."""
        return self._evaluator(states)

    def play(self, weights: bytes | None) -> Played:
        """Play until at least one game has ended, but not for long after TASK_S, so that a run can tell how it gets on.

        Args:
            weights: the weights of a new network; None to keep the present one.
        """
        began = self._cpu_s()
        if weights is not None:
            self._use(weights)
        selfplay, first, evaluations = self._selfplay, self._games, self._network.evaluations
        until = time.monotonic() + TASK_S
        games = selfplay.step()
        while not games and time.monotonic() < until:
            games = selfplay.step()
        self._games += len(games)
        evaluations, cpu_s = self._network.evaluations - evaluations, self._cpu_s() - began
        return Played(self._number, games, first, evaluations, cpu_s, self._network.description)

    def _cpu_s(self) -> float:
        return time.process_time() + self._network.elsewhere_s


# --------------------------------------------------------------------------------------------------- evaluation


@dataclass(frozen=True)
class Score:
    """The score of the evaluated network in a match.

    Attributes:
        wins, draws, losses: the numbers of games won, drawn and lost.
        effective_games: the number of independent games that would carry as much information (arena.statistics.estimates).
    """

    wins: int
    draws: int
    losses: int
    effective_games: float

    @property
    def games(self) -> int:
        """The total number of games."""
        return self.wins + self.draws + self.losses

    @property
    def rate(self) -> float:
        """Points per game; a draw counts half."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True)
class CandidateResult:
    """The result of an evaluation.

    Attributes:
        accepted: whether the network replaces the one with which it was compared.
        gate: the score of the match that decided; None without a gate, and if there was no other network.
        against_other: the score against that network in a match of fixed length; None if there was none.
        against_mcts: the score against pure MCTS.
        sample: one game of the match against pure MCTS.
        gate_cpu_s: the CPU time of the match that decided.
    """

    accepted: bool
    gate: Score | None
    against_other: Score | None
    against_mcts: Score
    sample: PlayedGame
    gate_cpu_s: float


class Gate:
    """Decides whether a network replaces the best one (Silver et al. 2017: it must score more than 55 % in 400 games).

    Wald's sequential test compares two hypotheses: equal strength, and a score rate twice as far above one half as `score`. It
    ends a match as soon as one of them is accepted; otherwise the score rate decides the match.
    """

    def __init__(self, score: float) -> None:
        self.score = score
        self._sprt = Sprt(0.0, elo(2 * score - 0.5))

    def add(self, game: GameResult) -> str | None:
        """See arena.statistics.stopping.StoppingRule."""
        return self._sprt.add(game)

    def accepts(self, rate: float) -> bool:
        """Return whether the network is accepted, once the match is over."""
        return self._sprt.verdict == "accept_h1" or (self._sprt.verdict == "undecided" and rate > self.score)


class CandidateEvaluator:
    """Plays matches between networks, with games side by side.

    Args:
        config: the settings of the run.
        seeds, number: the seeds of the evaluator's random generator.
    """

    def __init__(self, config: RunConfig, seeds: Seeds, number: int) -> None:
        self._config = config
        self._rng = member_rng(seeds, number)
        self._networks: dict[str, InferenceNetwork] = {}

    def evaluate(self, candidate: bytes, other: bytes | None) -> CandidateResult:
        """Measure a network.

        Args:
            candidate: the weights of the network.
            other: the weights of the best network (with a gate) or of the previously evaluated one; None if there is none.
        """
        config = self._config
        agent = self._agent("candidate", candidate)
        accepted, gate_score, against_other, gate_cpu_s = True, None, None, 0.0
        if other is not None:
            opponent = self._agent("other", other)
            against_other = _score(self._match(agent, opponent, config.rating_games, None))
            if config.gate:
                gate, began = Gate(config.gate_score), time.process_time()
                gate_score = _score(self._match(agent, opponent, config.gate_games, gate))
                accepted, gate_cpu_s = gate.accepts(gate_score.rate), time.process_time() - began
        rollouts = make_rollouts(config.rules(), self._rng)
        mcts = SearchAgent(rollouts, PuctSettings(config.mcts_playouts), self._rng)
        result = self._match(agent, mcts, config.rating_games, None)
        return CandidateResult(accepted, gate_score, against_other, _score(result), result.games[0], gate_cpu_s)

    def _agent(self, role: str, weights: bytes) -> SearchAgent:
        self._networks[role] = network_with(weights, self._networks.get(role), config=self._config)
        settings = self._config.search_settings(self._config.match_playouts)
        return SearchAgent(PositionCache(self._networks[role]), settings, self._rng)

    def _match(self, first: SearchAgent, second: SearchAgent, games: int, stop: Gate | None) -> PlayedMatch:
        config = self._config
        settings = MatchSettings(config.rules(), games, side_by_side=min(SIDE_BY_SIDE, games))
        return play_lockstep_match((first, second), settings, self._rng, stop=stop)


def _score(result: PlayedMatch) -> Score:
    seen = result.statistics
    return Score(seen.wins, seen.draws, seen.losses, seen.effective_games)


# -------------------------------------------------------------------------------------------------------- crews


class Crew(Protocol):
    """The members of a run: workers 0 to N - 1 and an evaluator, member N."""

    workers: int

    def start(self, member: int, method: str, *arguments: Any) -> None:
        """Start a task of an idle member: call one of its methods with these arguments."""

    def next_result(self) -> tuple[int, Any]:
        """Wait until a task is done, and return the member and the result."""

    def close(self) -> None:
        """End all members, even those at work."""


def make_member(
    config: RunConfig, seeds: Seeds, number: int, is_worker: bool, server: Connection | None = None
) -> SelfPlayWorker | CandidateEvaluator:
    """Make a member of a crew, in the process in which it will work; a worker may have a pipe to a server."""
    torch.set_num_threads(1)  # more threads slow down batches of this size, and the other members need the cores
    keep_freed_memory()
    flush_subnormals()
    if is_worker:
        return SelfPlayWorker(config, seeds, number, server)
    return CandidateEvaluator(config, seeds, number)


class InlineCrew:
    """One worker and the evaluator in this process; `next_result` does the task that was started first."""

    workers = 1

    def __init__(self, config: RunConfig, seeds: Seeds) -> None:
        self._members = [make_member(config, seeds, number, number == 0) for number in (0, 1)]
        self._waiting: deque[tuple[int, str, tuple[Any, ...]]] = deque()

    def start(self, member: int, method: str, *arguments: Any) -> None:
        """See Crew."""
        self._waiting.append((member, method, arguments))

    def next_result(self) -> tuple[int, Any]:
        """See Crew."""
        member, method, arguments = self._waiting.popleft()
        return member, getattr(self._members[member], method)(*arguments)

    def close(self) -> None:
        """See Crew."""
        self._waiting.clear()


class ProcessCrew:
    """Each member in its own process on this machine; of the tasks that are done, `next_result` returns the one started first.

    Args:
        config, seeds: see InlineCrew.
        workers: the number of workers.
        served: whether one more process, the server, computes the network for all workers.
    """

    def __init__(self, config: RunConfig, seeds: Seeds, workers: int, *, served: bool = False) -> None:
        self.workers = workers
        self._tasks = 0
        self._begun: dict[int, int] = {}  # member -> the number of its latest task
        self._context = multiprocessing.get_context("spawn")  # torch and its threads do not survive a fork
        self._processes, self._connections = [], []
        self._server: BaseProcess | None = None
        pipes = [self._context.Pipe() for _ in range(workers if served else 0)]
        before = signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # the members inherit this: Ctrl-C reaches all processes, and the learner handles it
        if served:
            self._server = self._begin("inference server", _serve_network, [there for _, there in pipes], config)
        for number in range(workers + 1):
            here, there = self._context.Pipe()
            server = pipes[number][0] if served and number < workers else None
            self._processes.append(
                self._begin(f"member {number}", _serve, there, config, seeds, number, number < workers, server)
            )
            self._connections.append(here)
            there.close()
        for end in (end for pipe in pipes for end in pipe):
            end.close()  # so that each end notices when the process with the other one has ended
        signal.signal(signal.SIGINT, before)

    def _begin(self, name: str, target: Callable[..., None], *arguments: Any) -> BaseProcess:
        process = self._context.Process(target=target, args=arguments, name=name, daemon=True)
        process.start()
        return process

    def start(self, member: int, method: str, *arguments: Any) -> None:
        """See Crew."""
        self._tasks += 1
        self._begun[member] = self._tasks
        try:
            self._connections[member].send((method, arguments))
        except OSError:
            raise self._ended(member) from None

    def next_result(self) -> tuple[int, Any]:
        """See Crew."""
        ready = [self._connections.index(each) for each in wait(self._connections)]  # type: ignore[arg-type]
        # In the order of members, many workers would keep a busy learner from ever reading the evaluator's result.
        member = min(ready, key=lambda each: self._begun.get(each, 0))
        try:
            return member, self._connections[member].recv()
        except (EOFError, OSError):
            raise self._ended(member) from None

    def _ended(self, member: int) -> UsageError:
        """Say which process has ended; a server that has ended takes the workers with it."""
        who, process = f"number {member}", self._processes[member]
        process.join(END_S)
        if self._server is not None and process.exitcode == SERVER_IS_GONE:
            who, process = "the one that computes the network", self._server
            process.join(END_S)
        return UsageError(
            f"expected all {self.workers + 1 + (self._server is not None)} processes to keep running; {who} ended with exit "
            f"code {process.exitcode} (a negative code is the signal that killed it, for example when memory runs out; any "
            "other error is printed above). Continue with --resume"
        )

    def close(self) -> None:
        """See Crew."""
        processes = [*self._processes, *([self._server] if self._server else [])]
        for process in processes:
            process.kill()  # safe, since members write no files
        for connection in self._connections:
            connection.close()
        for process in processes:
            process.join(END_S)


def _serve(
    connection: Connection, config: RunConfig, seeds: Seeds, number: int, is_worker: bool, server: Connection | None
) -> None:
    """Run a member in its own process, which ends when the process that started it ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    member = make_member(config, seeds, number, is_worker, server)
    while True:
        method, arguments = connection.recv()
        try:
            result = getattr(member, method)(*arguments)
        except (EOFError, ConnectionError):
            if server is None:
                raise
            sys.exit(SERVER_IS_GONE)
        connection.send(result)


def _serve_network(connections: list[Connection], config: RunConfig) -> None:
    """Run the server in its own process, which ends when the process that started it ends."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(1)  # as in make_member
    flush_subnormals()
    serve_network(connections, partial(network_with, config=config, callers=len(connections)), config.rules())


def _end_with_parent() -> None:
    """Exit when the parent has ended; a member at work would notice the closed pipe much later."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
