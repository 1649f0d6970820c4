"""Try convolutions in 8-bit integers: `python bench/int8.py model/11_11_5.pt --games 400`.

NNCF quantises the convolutions of a trained network (`python -m pip install nncf`). The range of each activation is the largest
that occurs in the leaves of searches in games of the network against itself. Leaves of other games show how far the outputs
are from those in float32: the mean Kullback-Leibler divergence of the policy, how often the first choice is the same, and the
root mean square difference of the values. Then come evaluations per second of CPU time, and a match with equal numbers of
playouts between the two. `--record` writes bench/records/int8.json. Run this on a machine that does nothing else.
"""

from __future__ import annotations

import importlib.util
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from inference import rate_of
from recording import Record, add_record_option, write_record
from reference_package import reference_package

from arena.match.records import machine
from common.errors import UsageError
from common.program_ends import Parser, run_program
from games.catalog import rules_of
from games.protocol import GameRules
from training.inference.evaluators import DTYPES, InferenceNetwork, PositionCache, StateEvaluator, fold
from training.inference.networks import read_model
from training.inference.openvino_model import OpenVinoModel
from training.matches import MatchSettings, SearchAgent, describe_match, play_lockstep_match, show_progress
from training.search.puct import PuctSettings

GAMES_FOR_LEAVES = 32


class Int8Model(OpenVinoModel):
    """A network whose convolutions are computed in 8-bit integers.

    Args:
        model: a network as in OpenVinoModel.
        states: [N, P, H, W] float32, the positions in which the ranges of activations are measured.
        bias_correction: whether NNCF corrects the mean error of each layer.
    """

    def __init__(self, model: torch.nn.Module, states: np.ndarray, bias_correction: bool) -> None:
        import nncf
        from nncf.quantization.range_estimator import RangeEstimatorParametersSet

        nncf.set_log_level(logging.ERROR)
        super().__init__(model, states.shape[1:])
        # By default NNCF takes means of the largest values, and cuts off the activations that threats cause.
        advanced = nncf.AdvancedQuantizationParameters(
            disable_bias_correction=not bias_correction,
            activations_range_estimator_params=RangeEstimatorParametersSet.MINMAX,
        )
        single = nncf.Dataset([states[index : index + 1] for index in range(len(states))])
        self._body = nncf.quantize(self._body, single, subset_size=len(states), advanced_parameters=advanced)
        self.compile(torch.float32)

    def evaluate(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the probabilities and values, as an evaluator does."""
        log_probs, values = self(states)
        return np.exp(log_probs), values.reshape(-1)


def agent(evaluate: StateEvaluator, playouts: int, seed: int) -> SearchAgent:
    """Return an agent that searches with PUCT."""
    return SearchAgent(PositionCache(evaluate), PuctSettings(playouts), np.random.default_rng(seed))


def leaves_of_searches(evaluate: StateEvaluator, rules: GameRules, positions: int, playouts: int, seed: int) -> np.ndarray:
    """Return positions [N, P, H, W] that were evaluated in games of a network against itself."""
    seen: list[np.ndarray] = []

    def noting(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(states)
        return evaluate(states)

    both = agent(noting, playouts, seed), agent(noting, playouts, seed + 1)
    rng = np.random.default_rng(seed)
    play_lockstep_match(both, MatchSettings(rules, GAMES_FOR_LEAVES), rng)
    states = np.concatenate(seen)
    return states[rng.choice(len(states), min(positions, len(states)), replace=False)]


def differences(evaluate: StateEvaluator, right: tuple[np.ndarray, np.ndarray], states: np.ndarray) -> Record:
    """Return how far an evaluator is from the right probabilities and values."""
    (probs, values), (right_probs, right_values) = evaluate(states), right
    divergence = (right_probs * np.log((right_probs + 1e-9) / (probs + 1e-9))).sum(axis=1).mean()
    return {
        "divergence": round(float(divergence), 5),
        "same_first": round(float((probs.argmax(axis=1) == right_probs.argmax(axis=1)).mean()), 4),
        "value_off": round(float(np.sqrt(((values - right_values) ** 2).mean())), 4),
    }


def main() -> int:
    """Quantise a network, compare, and play."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("model", type=Path, help="weights of the course's network for Gomoku")
    parser.add_argument("--board", type=int, default=11, metavar="N", help="the board is N x N (default 11)")
    parser.add_argument("--positions", type=int, default=2000, metavar="N", help="to measure ranges in (default 2000)")
    parser.add_argument("--bias-correction", action="store_true", help="let NNCF correct the mean error of each layer")
    parser.add_argument("--batch", type=int, default=64, metavar="N", help="states in a batch (default 64)")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of each measurement (default 3)")
    parser.add_argument("--games", type=int, default=400, metavar="N", help="games of the match (default 400)")
    parser.add_argument("--playouts", type=int, default=64, metavar="N", help="playouts per move (default 64)")
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser, "int8")
    options = parser.parse_args()
    if missing := [name for name in ("openvino", "nncf") if importlib.util.find_spec(name) is None]:
        names = " and ".join(missing)
        raise UsageError(f"expected openvino and nncf; {names} missing: python -m pip install {' '.join(missing)}")
    torch.set_num_threads(1)
    size = options.board
    rules = rules_of("gomoku", size, size, n_in_row=5)
    with reference_package():
        model = read_model(str(options.model), rules)
    usual = {dtype: InferenceNetwork(model, size, size, dtype=dtype, library="openvino") for dtype in DTYPES}
    exact = usual[torch.float32]
    states, others = (
        leaves_of_searches(exact, rules, options.positions, options.playouts, options.seed + 10 * part) for part in range(2)
    )
    int8 = Int8Model(fold(model), states, options.bias_correction)
    right, batch = exact(others), others[: options.batch]
    ways: tuple[tuple[str, StateEvaluator, Callable[[], object]], ...] = (
        ("float32", exact, exact.forward_call(batch)),
        ("bfloat16", usual[torch.bfloat16], usual[torch.bfloat16].forward_call(batch)),
        ("int8", int8.evaluate, lambda: int8(batch)),
    )
    rows: list[Record] = []
    for name, evaluate, forward in ways:
        rate = rate_of(forward, len(batch), options.seconds, time.process_time)
        rows.append({"type": name, "evaluations_per_s": round(rate), **differences(evaluate, right, others)})
        print(rows[-1], flush=True)
    agents = agent(int8.evaluate, options.playouts, options.seed), agent(exact, options.playouts, options.seed + 1)
    match = play_lockstep_match(
        agents, MatchSettings(rules, options.games), np.random.default_rng(options.seed), progress=show_progress(options.games)
    )
    print(describe_match(match))
    if options.record is not None:
        seen = match.statistics
        command = f"python bench/int8.py {options.model} --games {options.games} --playouts {options.playouts}"
        command += f" --seed {options.seed}" + (" --bias-correction" if options.bias_correction else "")
        result: Record = {"won": seen.wins, "drawn": seen.draws, "lost": seen.losses, "score": round(seen.score_rate or 0.0, 3)}
        result["interval"] = [round(end, 3) for end in seen.interval_95]
        record = {"command": command, "machine": machine(), "board": f"{size}x{size}", "rows": rows, "match": result}
        write_record(options.record, record)
    return 0


if __name__ == "__main__":
    sys.exit(run_program("int8.py", main))
