"""Convolutions in 8-bit integers for a trained network: python -m training.quantise FILE [options]

The ranges of the activations (`training.inference.int8_conversion`) are measured in the leaves of searches, in games of the
network against itself. Leaves of other games show how far the outputs are from those in float32. If they are near enough, the
result is written beside the weights (`training.inference.int8_file`); players then use it where it is the fastest. OpenVINO
alone is enough to play with it.
"""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")  # torch takes seconds to import, and there is nothing to save

import sys
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch
from torch import nn

from common.errors import UsageError
from common.program_ends import Parser, run_program
from common.subnormals import flush_subnormals
from games.catalog import GAMES, rules_of
from games.protocol import GameRules
from training.inference.evaluators import InferenceNetwork, PositionCache, StateEvaluator, fold
from training.inference.int8_conversion import LARGEST_VALUE_OFF, LEAST_SAME_FIRST, expect_nncf, measure_differences
from training.inference.int8_file import Int8Body, write_int8
from training.inference.networks import read_model
from training.inference.openvino_model import OpenVinoModel, graph_bytes
from training.matches import MatchSettings, SearchAgent, board_size, play_lockstep_match, show_progress
from training.samples import pack_states, unpack_states
from training.search.puct import PuctSettings


def leaves_of_searches(
    evaluate: StateEvaluator, rules: GameRules, positions: int, *, games: int, playouts: int, seed: int
) -> np.ndarray:
    """Play games of a network against itself.

    Args:
        evaluate: the network.
        rules: the game.
        positions: the number of positions to return, if as many were evaluated.
        games, playouts: the number of games, which is even, and of playouts for each move.
        seed: for the openings, the searches, and the choice of positions.

    Returns:
        Different positions that the network evaluated in its searches, [N, P, H, W] float32.

    Raises:
        UsageError: the number of games is not even.
    """
    seen: list[np.ndarray] = []

    def noting(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        seen.append(pack_states(states))
        return evaluate(states)

    rngs = np.random.default_rng(seed).spawn(4)
    cache = PositionCache(noting)
    first, second = (SearchAgent(cache, PuctSettings(playouts), rng) for rng in rngs[:2])
    play_lockstep_match((first, second), MatchSettings(rules, games), rngs[2], progress=show_progress(games))
    packed = np.unique(np.concatenate(seen), axis=0)
    return unpack_states(packed[rngs[3].permutation(len(packed))[:positions]], rules)


def in_int8(model: nn.Module, states: np.ndarray, *, bias_correction: bool = False) -> tuple[bytes, bytes]:
    """Quantise the convolutions of a network; see `OpenVinoModel.quantise`.

    Args:
        model: a PolicyValueNetModel.
        states, bias_correction: see `OpenVinoModel.quantise`.

    Returns:
        The graph and the constants of an Int8Body.
    """
    network = OpenVinoModel(fold(model), states.shape[1:])
    network.quantise(states, bias_correction=bias_correction)
    return graph_bytes(network.int8)


def by_openvino(model: nn.Module, rules: GameRules, int8: Int8Body | None = None) -> InferenceNetwork:
    """Return the network as OpenVINO computes it, in float32 or in 8-bit integers."""
    dtype = torch.float32 if int8 is None else torch.int8
    return InferenceNetwork(model, rules.width, rules.height, dtype=dtype, library="openvino", int8=int8)


def quantise(weights: Path, rules: GameRules, *, positions: int, games: int, playouts: int, seed: int) -> int:
    """Quantise a network, compare it with float32, and write the file beside its weights if it is near enough.

    Args:
        weights: the file of weights.
        rules, positions, games, playouts, seed: see `leaves_of_searches`.

    Returns:
        The exit code: 0, or 1 if the outputs differ too much and nothing was written.

    Raises:
        UsageError, NotImplementedError: see `training.inference.networks.read_model`.
    """
    model = read_model(str(weights), rules)
    exact = by_openvino(model, rules)
    parts = []
    for number, purpose in enumerate(("measure the ranges in", "compare with float32 on")):
        print(f"{games} games for positions to {purpose}", file=sys.stderr, flush=True)
        leaves = leaves_of_searches(exact, rules, positions, games=games, playouts=playouts, seed=seed + number)
        parts.append(leaves)
    states, others = parts
    print(f"Quantising with {len(states)} positions", file=sys.stderr, flush=True)
    graph, constants = in_int8(model, states)
    int8 = by_openvino(model, rules, Int8Body(graph, constants, weights))
    off = measure_differences(int8, exact(others), others)
    print(f"On {len(others)} positions of other games, {off}.")
    if not off.small:
        print(
            f"Nothing is written: expected the same first choice in at least {100 * LEAST_SAME_FIRST:.0f} % and values off by "
            f"at most {LARGEST_VALUE_OFF}."
        )
        return 1
    settings = {"positions": len(states), "games": games, "playouts": playouts, "seed": seed}
    made_by = {name: version(name) for name in ("nncf", "openvino")}
    print(f"Wrote {write_int8(weights, graph, constants, {'settings': settings, 'differences': asdict(off), **made_by})}")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and quantise."""
    parser = Parser(prog="training.quantise", description="Compute a trained network's convolutions in 8-bit integers.")
    parser.add_argument("weights", type=Path, metavar="FILE", help="weights, such as model/11_11_5.pt; FILE.int8 is written")
    parser.add_argument(
        "--board", type=board_size, default=(11, 11, 5), metavar="WxHxN", help="the board, as in matches (default 11x11x5)"
    )
    parser.add_argument("--game", choices=GAMES, default="gomoku", help="the game (default gomoku)")
    parser.add_argument("--komi", type=float, default=7.5, metavar="X", help="what white receives in Go (default 7.5)")
    parser.add_argument("--positions", type=int, default=2000, metavar="N", help="to measure ranges (default 2000)")
    parser.add_argument("--games", type=int, default=32, metavar="N", help="to take positions from, even (default 32)")
    parser.add_argument("--playouts", type=int, default=64, metavar="N", help="playouts per move in them (default 64)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="seed of these games (default 1)")
    options = parser.parse_args(arguments)
    if options.positions < 1 or options.playouts < 2:
        parser.error(f"expected at least 1 position and 2 playouts; got {options.positions} and {options.playouts}")
    if options.seed < 0:
        parser.error(f"expected --seed of at least 0; got {options.seed}")
    expect_nncf()
    torch.set_num_threads(1)
    flush_subnormals()
    width, height, n_in_row = options.board
    rules = rules_of(options.game, width, height, n_in_row=n_in_row, komi=options.komi)
    try:
        return quantise(
            options.weights,
            rules,
            positions=options.positions,
            games=options.games,
            playouts=options.playouts,
            seed=options.seed,
        )
    except NotImplementedError as error:
        raise UsageError(str(error)) from error


if __name__ == "__main__":
    sys.exit(run_program("training.quantise", main))
