"""Measure what it is worth that searches of Go play on after two passes: `python bench/go_passes.py mcts FILE`.

Each agent plays itself with equal playouts. On one side, its searches take two passes back while a point is worth playing
(`games.go.position`); on the other side, two passes end them as they end a real game. The rule touches a playout if the way to
its new node contains two passes in a row that were taken back; playouts that end in a node that is known already do not count.
An agent is `mcts`, PUCT with random rollouts, or the weights of a run of Go, searched with Gumbel search. `--record` writes the
results to bench/records/go_passes.json.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from network_tables import go_passes
from recording import Record, add_record_option, earlier_record, merged, write_record

from arena.match.records import machine
from common.program_ends import Parser, run_program
from games.go.batch import GoBatch
from games.protocol import PositionBatch
from training.alphago.runs import match_row
from training.inference.evaluators import Evaluator
from training.matches import MatchSettings, SearchAgent, describe_match, make_agent, play_lockstep_match, show_progress
from training.search.paths import Ways
from training.search.steps import Expansion, RulesSteps, Steps, StepsMaker
from training.selfplay.presets import RUN_PRESETS, RunConfig

MCTS = "mcts"
PRESETS = [name for name, preset in RUN_PRESETS.items() if preset.game == "go"]
SIDE_BY_SIDE = 64


class PassCounter(StepsMaker):
    """Steps by the rules of Go that count new nodes.

    Attributes:
        nodes: the number of new nodes so far.
        touched: the number of those on whose way two passes were taken back.
    """

    def __init__(self, evaluate: Evaluator, depth_limit: int) -> None:
        self.evaluate, self.depth_limit = evaluate, depth_limit
        self.nodes = self.touched = 0

    def new_steps(self) -> Steps:
        """See StepsMaker."""
        return CountedSteps(self)


class CountedSteps(RulesSteps):
    """The steps of a PassCounter."""

    def __init__(self, counter: PassCounter) -> None:
        super().__init__(counter.evaluate, counter.depth_limit)
        self._counter = counter

    def begin(self, boards: PositionBatch, rows: int) -> None:
        """See Steps."""
        assert isinstance(boards, GoBatch)
        super().begin(boards, rows)
        self._pass_action = boards.pass_action
        self._after_a_pass = boards.last_move == self._pass_action

    def behind_edges(self, games: np.ndarray, rows: np.ndarray, ways: Ways) -> Expansion:
        """See Steps."""
        expansion = super().behind_edges(games, rows, ways)
        within = np.arange(ways.lines.shape[1]) < ways.lengths[:, None]
        passes = np.column_stack([self._after_a_pass[games], within & (ways.lines == self._pass_action)])
        pairs = passes[:, 1:] & passes[:, :-1]
        # Two passes at the end of a way have ended its game, if it is over.
        pairs[np.flatnonzero(expansion.over), ways.lengths[expansion.over] - 1] = False
        self._counter.nodes += len(games)
        self._counter.touched += int(pairs.any(axis=1).sum())
        return expansion


def measure(agent: str, preset: RunConfig, playouts: int, games: int, seed: int) -> Record:
    """Return the row of an agent: its match from the side that plays on after two passes, and the nodes of that side."""
    rules = preset.rules()
    text = f"mcts:playouts={playouts}" if agent == MCTS else f"gumbel:{agent}?playouts={playouts}"
    rngs = np.random.default_rng(seed).spawn(3)
    sides, counters = [], []
    for rng, depth_limit in zip(rngs[1:], (preset.search_depth, 0), strict=True):
        side = make_agent(f"{text}&search_depth={depth_limit}", rules, SIDE_BY_SIDE // 2, rng)
        assert isinstance(side, SearchAgent) and not isinstance(side.evaluate, StepsMaker)
        counters.append(PassCounter(side.evaluate, depth_limit))
        sides.append(replace(side, evaluate=counters[-1]))
    settings = MatchSettings(rules, games, side_by_side=SIDE_BY_SIDE)
    match = play_lockstep_match((sides[0], sides[1]), settings, rngs[0], progress=show_progress(games))
    print(f"{agent}: {describe_match(match)}", flush=True)
    return {
        "agent": agent,
        "playouts": playouts,
        "nodes": counters[0].nodes,
        "touched": counters[0].touched,
        **match_row(match),
    }


def main() -> int:
    """Parse the command line, play the matches and print the table."""
    parser = Parser(prog="go_passes.py", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("agents", nargs="+", metavar="AGENT", help=f"{MCTS}, or the weights of a run of Go")
    parser.add_argument("--preset", choices=PRESETS, default=PRESETS[0], help=f"board, komi and depth (default {PRESETS[0]})")
    parser.add_argument("--playouts", type=int, default=64, metavar="N", help="playouts per move (default 64)")
    parser.add_argument("--games", type=int, default=400, metavar="N", help="games of each match, even (default 400)")
    parser.add_argument("--seed", type=int, default=1)
    add_record_option(parser, "go_passes")
    options = parser.parse_args()
    torch.set_num_threads(1)
    command = f"python bench/go_passes.py AGENTS --preset {options.preset} --playouts {options.playouts}"
    command += f" --games {options.games} --seed {options.seed}"
    record: Record = {"command": command, "machine": machine(), "rows": []}
    earlier = earlier_record(options.record, command)
    for agent in options.agents:
        row = measure(agent, RUN_PRESETS[options.preset], options.playouts, options.games, options.seed)
        record["rows"].append(row)
        if options.record is not None:
            write_record(options.record, merged(earlier, record, key=lambda row: row["agent"]))
    print(f"\n{go_passes(record)}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(run_program("go_passes.py", main))
