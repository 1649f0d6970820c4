"""Stage search: a search whose leaves are evaluated by the value network and by a rollout (Silver et al. 2016, "Searching with
policy and value networks" and Methods, "Search algorithm"):

    V(leaf) = (1 - lambda) v(leaf) + lambda z

where v is the output of the value network and z the result of one rollout, both for the side to move. Priors come from the
supervised policy, as in the paper, where this policy did better than the improved one because it considers more moves. The
search is that of training.search.puct. The paper's search expands a node only after several visits, each with a rollout; here
each new node gets one rollout.
"""

from __future__ import annotations

import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from games.protocol import PositionBatch
from training.alphago.config import StagesConfig
from training.alphago.patterns import load_pattern_policy
from training.alphago.play import SampledPolicy, play_to_end, results_for
from training.alphago.runs import (
    digest_of,
    inference_network,
    load_stage_network,
    match_row,
    read_stage_result,
    samples_of,
    write_stage_result,
)
from training.inference.evaluators import Evaluator, PositionCache, StateEvaluator, evaluate_positions
from training.matches import Agent, MatchSettings, SearchAgent, play_lockstep_match, show_progress
from training.search.puct import PuctSettings
from training.search.rollouts import make_rollouts
from training.supervised.settings import CallError


class PlayedRollouts:
    """An evaluator whose values are the results of games that an agent plays from the positions; its policy is uniform.

    Args:
        agent: plays both sides.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def of_positions(self, positions: PositionBatch) -> tuple[np.ndarray, np.ndarray]:
        """See PositionEvaluator; the games are played by the rules of real ones."""
        winners = play_to_end(positions.for_search(0), lambda live, _: self._agent.choose(live))
        legal = positions.legal
        probs = (legal / legal.sum(axis=1, keepdims=True)).astype(np.float32)
        return probs, results_for(positions.side_to_move, winners)


class MixedEvaluator:
    """An evaluator that takes its probabilities from one evaluator and mixes the values of two others.

    Args:
        policy, value, rollout: the evaluators.
        share: lambda, the share of the rollout. A value or rollout evaluator whose share is 0 is not called.
    """

    def __init__(self, policy: Evaluator, value: Evaluator, rollout: Evaluator, share: float) -> None:
        self._policy, self._value, self._rollout = policy, value, rollout
        self._share = share

    def of_positions(self, positions: PositionBatch) -> tuple[np.ndarray, np.ndarray]:
        """See PositionEvaluator."""
        probs, _ = evaluate_positions(self._policy, positions)
        values = np.zeros(len(positions), dtype=np.float32)
        for evaluator, share in ((self._value, 1 - self._share), (self._rollout, self._share)):
            if share > 0:
                values += share * evaluate_positions(evaluator, positions)[1]
        return probs, values


def rollouts_for(policy: StateEvaluator, config: StagesConfig, run: Path, rng: np.random.Generator) -> Evaluator:
    """Return the evaluator by rollouts that the settings name.

    Raises:
        CallError: the rollout policy has not been learnt.
    """
    if config.search.rollout == "random":
        return make_rollouts(config.rules, rng)
    if config.search.rollout == "pattern":
        return load_pattern_policy(run / "rollout", config.n_in_row, rng)
    return PlayedRollouts(SampledPolicy(policy, rng))


class TimedAgent:
    """An agent that adds up its processor time.

    Attributes:
        cpu_s: the processor time so far, in seconds.
        moves: the number of moves so far.
    """

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.cpu_s, self.moves = 0.0, 0

    def choose(self, boards: PositionBatch) -> np.ndarray:
        """See Agent."""
        start = time.process_time()
        moves = self._agent.choose(boards)
        self.cpu_s += time.process_time() - start
        self.moves += len(moves)
        return moves


def run_search(config: StagesConfig, run: Path) -> dict[str, Any]:
    """Play a match between each pair of lambdas, with equal numbers of playouts; finished matches are not repeated.

    Returns:
        What all matches have in common, the processor time of all games in seconds and, for each pairing, `match_row` for the
        first lambda.

    Raises:
        CallError: a network or the rollout policy is missing, or earlier matches were played with others or other settings.
    """
    settings, folder = config.search, run / "search"
    networks = [
        inference_network(load_stage_network(run / stage, config), config, batch_size=settings.games // 2)
        for stage in ("supervised", "value")
    ]
    learnt = ["supervised", "value", *(["rollout"] if settings.rollout == "pattern" else [])]
    shared = {
        **config.recorded_game,
        "seed": config.seed,
        "c_puct": settings.c_puct,
        "opening_stones": settings.opening_stones,
        "samples": {stage: samples_of(run / stage) for stage in learnt},
        "weights": {stage: digest_of(run / stage) for stage in learnt},
    }
    result = read_stage_result(folder) or dict(shared)
    if (before := {name: result[name] for name in shared if name in result}) != shared:
        raise CallError(
            f"expected matches with {shared} in {folder / 'result.json'}; it has those with {before}: go back to these, or "
            "move the file away to play again"
        )
    search = PuctSettings(settings.playouts, settings.c_puct)
    for number, pair in enumerate(combinations(settings.lambdas, 2)):
        name = f"{pair[0]} against {pair[1]}, {settings.playouts} playouts, {settings.rollout} rollouts"
        if result.get(name, {}).get("games") == settings.games:
            continue
        rng = np.random.default_rng([config.seed, 4, number])
        agents = []
        for share in pair:
            policy, value = map(PositionCache, networks)  # its own: it would not pay for positions that the other one evaluated
            rollout = rollouts_for(policy, config, run, rng)
            agents.append(TimedAgent(SearchAgent(MixedEvaluator(policy, value, rollout, share), search, rng)))
        first, second = agents
        pairing = MatchSettings(config.rules, settings.games, settings.opening_stones, side_by_side=settings.games)
        match = play_lockstep_match((first, second), pairing, rng, progress=show_progress(settings.games))
        result[name] = {
            **match_row(match),
            "cpu_ms_a_move": [round(1000 * seen.cpu_s / seen.moves) for seen in (first, second)],
        }
        result["cpu_s"] = round(result.get("cpu_s", 0) + first.cpu_s + second.cpu_s)
        write_stage_result(folder, result)
    return result
