"""Who plays the games of a run: workers for self-play and one evaluator, in this process or in processes of their own.

A crew is asked (`ask`) and answers later, in any order (`answer`). A member does one thing at a time, and keeps what it has
in between: a worker its games in flight. Weights travel as the bytes of a state_dict, so that it makes no difference on which
machine a member is (`ray_workers.py`).
"""

from __future__ import annotations

import io
import multiprocessing
import os
import signal
import threading
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from arena.statistics.estimates import GameResult, elo
from arena.statistics.stopping import Sprt
from common.errors import UsageError
from training.boards import PLANES
from training.inference import InferenceNetwork, PositionCache, RandomSymmetry
from training.matches import MatchResult, PlayedGame, SearchAgent, play_match
from training.presets import RunConfig
from training.rollouts import RandomRollouts
from training.samples import FinishedGame
from training.search import PuctSettings
from training.selfplay import SelfPlay

END_S = 10.0  # for a killed process to be gone
SIDE_BY_SIDE = 64  # games of a match at once

Seeds = tuple[int, int]
"""The run's seed and the number of its start."""


def to_bytes(model: nn.Module) -> bytes:
    """The weights, to travel."""
    file = io.BytesIO()
    torch.save({name: tensor.cpu() for name, tensor in model.state_dict().items()}, file)
    return file.getvalue()


def to_model(config: RunConfig, weights: bytes) -> nn.Module:
    """The student's network with such weights."""
    from AlphaZero.policy_value_net_torch import PolicyValueNetModel

    model: nn.Module = PolicyValueNetModel(config.board_width, config.board_height, config.blocks, PLANES)
    model.load_state_dict(torch.load(io.BytesIO(weights), weights_only=True))
    return model


@dataclass(frozen=True)
class Played:
    """What a worker has done since it was asked.

    Attributes:
        worker: its number.
        games: those that have ended.
        first: the number of the first of them, counted by this worker.
        evaluations: positions that the network was asked for, in all its games.
    """

    worker: int
    games: list[FinishedGame]
    first: int
    evaluations: int


class Worker:
    """Plays games of a network against itself, many side by side.

    Args:
        config: of the run.
        seeds: of all that it draws.
        number: of the worker; it draws otherwise than others.
    """

    def __init__(self, config: RunConfig, seeds: Seeds, number: int) -> None:
        self._config, self._number = config, number
        self._rng = np.random.default_rng([*seeds, number])
        self._network: InferenceNetwork | None = None
        self._games = 0
        self._selfplay = SelfPlay(config.selfplay_settings(), self._evaluate, self._rng)

    def _use(self, weights: bytes) -> None:
        config = self._config
        self._network = InferenceNetwork(
            to_model(config, weights),
            config.board_width,
            config.board_height,
            dtype=self._network.dtype if self._network else None,
            batch_size=config.games_at_once,
        )
        self._ask = RandomSymmetry(PositionCache(self._network), config.board_width, config.board_height, self._rng)

    def _evaluate(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The latest network: games in flight go on with it."""
        return self._ask(states)

    def play(self, weights: bytes | None) -> Played:
        """Go on until a game has ended.

        Args:
            weights: of a new network; None: the one before.
        """
        if weights is not None:
            self._use(weights)
        assert self._network is not None, "expected weights at first"
        selfplay, first = self._selfplay, self._games
        evaluations = self._network.evaluations
        games: list[FinishedGame] = []
        while not games:
            games = selfplay.step()
        self._games += len(games)
        return Played(self._number, games, first, self._network.evaluations - evaluations)


# --------------------------------------------------------------------------------------------------- evaluation


@dataclass(frozen=True)
class Score:
    """Of the network that is evaluated, in a match.

    Attributes:
        wins, draws, losses: in games.
        effective_games: independent games that would tell as much (arena.statistics.estimates).
    """

    wins: int
    draws: int
    losses: int
    effective_games: float

    @property
    def games(self) -> int:
        """All of them."""
        return self.wins + self.draws + self.losses

    @property
    def rate(self) -> float:
        """Points a game, a draw counting half."""
        return (self.wins + self.draws / 2) / self.games


@dataclass(frozen=True)
class Judgement:
    """What an evaluation says.

    Attributes:
        accepted: whether the network takes the place of the one that it was compared with.
        against_other: the match with that one, if there was one.
        against_mcts: the match with pure MCTS.
        sample: a game of the latter match.
    """

    accepted: bool
    against_other: Score | None
    against_mcts: Score
    sample: PlayedGame


class Gate:
    """The rule by which a network takes the place of the best one (Silver et al. 2017: more than 55 % of 400 games).

    Wald's test of equal strength against twice the margin above one half, so that in between lies `score`: it ends a match
    as soon as that is clear, and the score rate decides one that it has not ended.
    """

    def __init__(self, score: float) -> None:
        self.score = score
        self._sprt = Sprt(0.0, elo(2 * score - 0.5))

    def add(self, game: GameResult) -> str | None:
        """See arena.statistics.stopping.StoppingRule."""
        return self._sprt.add(game)

    def accepts(self, rate: float) -> bool:
        """Whether the network is better, after its last game."""
        return self._sprt.verdict == "accept_h1" or (self._sprt.verdict == "undecided" and rate >= self.score)


class Evaluator:
    """Plays matches of networks, games side by side.

    Args:
        config: of the run.
        seeds, number: of all that it draws.
    """

    def __init__(self, config: RunConfig, seeds: Seeds, number: int) -> None:
        self._config = config
        self._rng = np.random.default_rng([*seeds, number])

    def judge(self, candidate: bytes, other: bytes | None) -> Judgement:
        """Measure a network.

        Args:
            candidate: its weights.
            other: those of the best one (with a gate) or of the one evaluated before; None: there is none.
        """
        config = self._config
        agent, gate = self._agent(candidate), Gate(config.gate_score) if config.gate else None
        accepted, against_other = True, None
        if other is not None:
            games = config.gate_games if gate else config.rating_games
            against_other = _score(self._match(agent, self._agent(other), games, gate))
            accepted = gate is None or gate.accepts(against_other.rate)
        rollouts = RandomRollouts(config.n_in_row, self._rng)
        mcts = SearchAgent(rollouts, PuctSettings(config.mcts_playouts), self._rng)
        result = self._match(agent, mcts, config.rating_games, None)
        return Judgement(accepted, against_other, _score(result), result.games[0])

    def _agent(self, weights: bytes) -> SearchAgent:
        config = self._config
        network = InferenceNetwork(
            to_model(config, weights), config.board_width, config.board_height, dtype=None, batch_size=config.games_at_once
        )
        return SearchAgent(PositionCache(network), config.search_settings(config.match_playouts), self._rng)

    def _match(self, first: SearchAgent, second: SearchAgent, games: int, stop: Gate | None) -> MatchResult:
        config = self._config
        board = config.board_width, config.board_height, config.n_in_row
        return play_match(first, second, board, games, self._rng, side_by_side=min(SIDE_BY_SIDE, games), stop=stop)


def _score(result: MatchResult) -> Score:
    seen = result.statistics
    return Score(seen.wins, seen.draws, seen.losses, seen.effective_games)


# -------------------------------------------------------------------------------------------------------- crews


class Crew(Protocol):
    """The members of a run: workers 0 to N - 1 and an evaluator, number N."""

    workers: int

    def ask(self, member: int, method: str, *arguments: Any) -> None:
        """Have a member, which must be idle, do something."""

    def answer(self) -> tuple[int, Any]:
        """Wait until somebody is ready: who, and what came of it."""

    def close(self) -> None:
        """End all members, with whatever they are doing."""


def make_member(config: RunConfig, seeds: Seeds, number: int, is_worker: bool) -> Worker | Evaluator:
    """A member of a crew, wherever it is."""
    torch.set_num_threads(1)  # several only wait for each other on batches of this size, and there are other members
    return (Worker if is_worker else Evaluator)(config, seeds, number)


class InlineCrew:
    """One worker and the evaluator in this process: whoever was asked first works when an answer is waited for."""

    workers = 1

    def __init__(self, config: RunConfig, seeds: Seeds) -> None:
        self._members = [make_member(config, seeds, number, number == 0) for number in (0, 1)]
        self._asked: deque[tuple[int, str, tuple[Any, ...]]] = deque()

    def ask(self, member: int, method: str, *arguments: Any) -> None:
        """See Crew."""
        self._asked.append((member, method, arguments))

    def answer(self) -> tuple[int, Any]:
        """See Crew."""
        member, method, arguments = self._asked.popleft()
        return member, getattr(self._members[member], method)(*arguments)

    def close(self) -> None:
        """See Crew."""
        self._asked.clear()


class ProcessCrew:
    """Each member in a process of its own on this machine."""

    def __init__(self, config: RunConfig, seeds: Seeds, workers: int) -> None:
        self.workers = workers
        context = multiprocessing.get_context("spawn")  # torch and its threads do not outlive a fork
        self._processes, self._connections = [], []
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # they inherit it: Ctrl-C goes to all, and who asks decides
        for number in range(workers + 1):
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, config, seeds, number, number < workers), daemon=True)
            process.start()
            there.close()
            self._processes.append(process)
            self._connections.append(here)
        signal.signal(signal.SIGINT, before)

    def ask(self, member: int, method: str, *arguments: Any) -> None:
        """See Crew."""
        try:
            self._connections[member].send((method, arguments))
        except OSError:
            raise self._ended(member) from None

    def answer(self) -> tuple[int, Any]:
        """See Crew."""
        ready = wait(self._connections)[0]
        member = self._connections.index(ready)  # type: ignore[arg-type]
        try:
            return member, self._connections[member].recv()
        except (EOFError, OSError):
            raise self._ended(member) from None

    def _ended(self, member: int) -> UsageError:
        process = self._processes[member]
        process.join(END_S)
        return UsageError(
            f"expected all {self.workers + 1} processes to go on; number {member} ended with exit code {process.exitcode} (a "
            "negative one is the signal that killed it, as where memory is short; else its words are above): --resume goes on"
        )

    def close(self) -> None:
        """See Crew."""
        for process, connection in zip(self._processes, self._connections, strict=True):
            process.kill()  # it writes no file
            connection.close()
        for process in self._processes:
            process.join(END_S)


def _serve(connection: Connection, config: RunConfig, seeds: Seeds, number: int, is_worker: bool) -> None:
    """A member in a process of its own, which ends with the one that started it."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    member = make_member(config, seeds, number, is_worker)
    while True:
        method, arguments = connection.recv()
        connection.send(getattr(member, method)(*arguments))


def _end_with_parent() -> None:
    """Games may go on for long before anybody looks at the pipe."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
