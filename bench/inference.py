"""Measure how fast networks are evaluated: `python bench/inference.py`, or `--boards 9x9 --batches 32 128`.

Each row is one board, batch size, library and type of the convolutions, on new networks with random weights, and shows
evaluations per second and the ratio to torch in float32 in the same run; then the largest differences of a probability and a
value from that, on random positions. The last column is the time to take over new weights of the same layers, as workers of
self-play do. Run this on a machine that does nothing else, or with `--cpu-time`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from recording import Record, add_record_option, write_record
from reference_package import reference_package
from selfplay import CASES

from arena.match.records import machine
from common.program_ends import Parser
from training.inference.evaluators import DTYPES, InferenceNetwork, Library
from training.inference.openvino_model import openvino_is_installed

BATCHES = {"3x3": [1, 32, 256], "9x9": [1, 16, 128], "11x11": [1, 16, 64], "15x15": [1, 16, 64]}


def rate_of(forward: Callable[[], object], batch: int, seconds: float, clock: Callable[[], float]) -> float:
    """Return the evaluations per second of a function that evaluates a batch, over the fastest half of the calls."""
    times: list[float] = []
    forward()
    until = clock() + seconds
    while clock() < until or len(times) < 4:
        started = clock()
        forward()
        times.append(clock() - started)
    fastest = sorted(times)[: len(times) // 2]
    return batch * len(fastest) / sum(fastest)


def measure(board: str, batches: list[int], seconds: float, clock: Callable[[], float]) -> list[Record]:
    """Measure a board with each library and type; print and return the rows."""
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    case, rules = CASES[board], CASES[board].rules
    size = rules.width, rules.height
    torch.manual_seed(1)
    network, other = (PolicyValueNet(*size, case.blocks).model for _ in range(2))
    libraries: list[Library] = ["torch", "openvino"] if openvino_is_installed() else ["torch"]
    rows: list[Record] = []
    for batch in batches:
        states = np.random.default_rng(batch).integers(0, 2, (batch, rules.planes, *size[::-1])).astype(np.float32)
        right = InferenceNetwork(network, *size)(states)
        for library, dtype in ((library, dtype) for library in libraries for dtype in DTYPES):
            fast = InferenceNetwork(network, *size, dtype=dtype, library=library)
            off = [float(np.abs(ours - theirs).max()) for ours, theirs in zip(fast(states), right, strict=True)]
            rate = rate_of(fast.forward_call(states), batch, seconds, clock)
            started = clock()
            fast.load(other)
            took_s = clock() - started
            name = str(dtype).removeprefix("torch.")
            row: Record = {"board": board, "blocks": case.blocks, "batch": batch, "library": library, "dtype": name}
            row |= {"evaluations_per_s": round(rate, 1), "load_s": round(took_s, 3), "off": [round(x, 6) for x in off]}
            rows.append(row)
            ratio = rate / rows[-1 - (len(rows) - 1) % (len(libraries) * len(DTYPES))]["evaluations_per_s"]
            print(
                f"{board:>5} {case.blocks:6} {batch:5} {library:8} {name:8} {rate:10.0f} {ratio:6.2f}"
                f" {off[0]:8.4f} {off[1]:8.4f} {took_s:6.2f} s",
                flush=True,
            )
    return rows


def main() -> None:
    """Parse the command line and measure board after board."""
    parser = Parser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--boards", nargs="+", choices=BATCHES, default=list(BATCHES))
    parser.add_argument("--batches", nargs="+", type=int, metavar="N", help="batch sizes (default: three for each board)")
    parser.add_argument("--seconds", type=float, default=3, help="seconds of each measurement (default 3)")
    parser.add_argument(
        "--cpu-time", action="store_true", help="measure CPU seconds instead of wall-clock time, for a busy machine"
    )
    add_record_option(parser, "inference")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows: list[Record] = []
    with reference_package():
        print("board blocks batch library  type     evaluations/s  ratio  probs  values  new weights")
        for board in options.boards:
            clock = time.process_time if options.cpu_time else time.perf_counter
            rows += measure(board, options.batches or BATCHES[board], options.seconds, clock)
    if options.record is not None:
        command = f"python bench/inference.py --boards {' '.join(options.boards)} --seconds {options.seconds:g}"
        command += f" --batches {' '.join(map(str, options.batches))}" if options.batches else ""
        command += " --cpu-time" if options.cpu_time else ""
        record = {"command": command, "machine": machine(), "load": round(os.getloadavg()[0], 1), "rows": rows}
        write_record(options.record, record)


if __name__ == "__main__":
    main()
