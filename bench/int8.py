"""Try convolutions in 8-bit integers: `python bench/int8.py model/11_11_5.pt --games 400`.

`training.quantise` says how the convolutions of a trained network are quantised and compared with those in float32; here
nothing is written beside the weights. Then come evaluations per second of CPU time, and a match with equal numbers of playouts
between the two. `--record` writes bench/records/int8.json. Run this on a machine that does nothing else.
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from inference import rate_of
from recording import Record, add_record_option, write_record
from reference_package import reference_package

from arena.match.records import machine
from common.program_ends import Parser, run_program
from games.catalog import rules_of
from training.inference.evaluators import DTYPES, InferenceNetwork, PositionCache, StateEvaluator
from training.inference.int8_conversion import expect_nncf, measure_differences
from training.inference.int8_file import Int8Body
from training.inference.networks import read_model
from training.matches import MatchSettings, SearchAgent, describe_match, play_lockstep_match, show_progress
from training.quantise import in_int8, leaves_of_searches
from training.search.puct import PuctSettings

GAMES_FOR_LEAVES = 32


def agent(evaluate: StateEvaluator, playouts: int, seed: int) -> SearchAgent:
    """Return an agent that searches with PUCT."""
    return SearchAgent(PositionCache(evaluate), PuctSettings(playouts), np.random.default_rng(seed))


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
    expect_nncf()
    torch.set_num_threads(1)
    size = options.board
    rules = rules_of("gomoku", size, size, n_in_row=5)
    with reference_package():
        model = read_model(str(options.model), rules)
    usual = {dtype: InferenceNetwork(model, size, size, dtype=dtype, library="openvino") for dtype in DTYPES}
    exact = usual[torch.float32]
    states, others = (
        leaves_of_searches(
            exact, rules, options.positions, games=GAMES_FOR_LEAVES, playouts=options.playouts, seed=options.seed + 10 * part
        )
        for part in range(2)
    )
    body = Int8Body(*in_int8(model, states, bias_correction=options.bias_correction), options.model)
    int8 = InferenceNetwork(model, size, size, dtype=torch.int8, library="openvino", int8=body)
    right, batch = exact(others), others[: options.batch]
    ways = {"float32": exact, "bfloat16": usual[torch.bfloat16], "int8": int8}
    rows: list[Record] = []
    for name, network in ways.items():
        rate = rate_of(network.forward_call(batch), len(batch), options.seconds, time.process_time)
        rows.append({"type": name, "evaluations_per_s": round(rate), **asdict(measure_differences(network, right, others))})
        print(rows[-1], flush=True)
    agents = agent(int8, options.playouts, options.seed), agent(exact, options.playouts, options.seed + 1)
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
