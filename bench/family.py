"""Compare pure UCT, PUCT with a network, Gumbel AlphaZero, MuZero and AlphaGo's mix, for the tables of docs/family.md:

    python bench/family.py train runs/family --seeds 1 2 3
    python bench/family.py curves runs/family/puct_1 runs/family/gumbel_1 --record
    python bench/family.py lines --networks runs/family/puct_1 --models runs/muzero_1 --record
    python bench/family.py matches --board 5x5x4 --network model/5_5_4.model --model runs/muzero_5x5x4 --record

`train` runs AlphaZero with settings of its own (TRAINED), in one process, and notes its CPU time; MuZero's runs are those of
`python -m training.muzero`. `curves` counts the lines of tic-tac-toe that networks lose in the course of training, each with
the search of its run; MuZero counts them itself (bench/record_run.py). `lines` counts those of finished networks with each
search, and `matches` plays a round robin twice: with equal numbers of playouts, and with equal CPU time per move. PUCT, Gumbel
search and the mix search with the same network; MuZero needs a model of its own, and pure UCT needs nothing.

`--record` writes each result to bench/records/family.json as soon as there is one, and what stands there with the same settings
is not measured again. Afterwards `python bench/tables.py` rewrites the tables.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from family_agents import Sources, board_name, contestant, training_of
from family_tables import EQUAL_TIME, METHODS, PURE
from recording import Record, add_record_option, earlier_record, merged, read_json, write_record
from reference_package import reference_package

from arena.match.records import machine
from common.errors import UsageError
from common.files import write_whole
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED
from games.catalog import GAMES, rules_of
from games.gomoku.rules import GomokuRules
from games.protocol import GameRules
from training.alphago.mixed import TimedAgent
from training.alphago.runs import match_row
from training.export_run import read_evaluations
from training.matches import MatchSettings, board_size, play_lockstep_match
from training.muzero.muzero_run import CHECKED_PLAYOUTS
from training.searched_lines import play_searched_lines
from training.selfplay import long_run
from training.selfplay.presets import RUN_PRESETS

COMMAND = "python bench/family.py train, curves, lines or matches, with the seeds, numbers of playouts and games of the rows"
# The keys that identify a row of each kind.
KEYS = {
    "network": ("board", "name"),
    "curve": ("method", "seed", "games"),
    "lines": ("method", "seed", "playouts"),
    "match": ("board", "budget", "first", "second"),
}
# Training: all moves of tic-tac-toe are drawn and searched with as many playouts as MuZero's. Matches while training are as
# short as they can be, since nothing depends on them.
SHORT_MATCHES = ["--rating-games", "2", "--mcts-playouts", "2", "--match-playouts", "2"]
TRAINED = {
    "tictactoe": ["--playouts", "25", "--first-n-moves", "9", "--games", "640", "--check-every", "128"],
    "5x5x4": ["--playouts", "32", "--first-n-moves", "8", "--games", "2048", "--check-every", "512", "--no-gate"],
    "6x6x4": ["--playouts", "32", "--first-n-moves", "8", "--games", "2048", "--check-every", "512", "--no-gate"],
    "nogo_5": ["--playouts", "32", "--games", "1536", "--check-every", "512", "--no-gate"],
}
TICTACTOE = GomokuRules(3, 3, 3)


class FamilyRecord:
    """The rows measured so far, and the file to which each new one is written at once.

    Args:
        path: the file; None to keep nothing.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._earlier = earlier_record(path, COMMAND)
        here = {**machine(), "torch": torch.__version__, "threads": 1}
        self._new: Record = {"command": COMMAND, "machine": here, "rows": []}

    def find(self, wanted: Record) -> Record | None:
        """Return the row with the kind, the key and all other values of `wanted`, or None."""
        return next((row for row in self._rows() if wanted.items() <= row.items()), None)

    def _rows(self) -> list[Record]:
        return merged(self._earlier, self._new, key=key_of)["rows"]

    def cpu_ms(self, board: str, budget: str, method: str) -> float:
        """Return the mean CPU milliseconds that a method took for a move in all pairings of a round robin."""
        rows = [row for row in self._rows() if (row["kind"], row.get("board"), row.get("budget")) == ("match", board, budget)]
        spent = [row["cpu_ms_a_move"][side] for row in rows for side in (0, 1) if (row["first"], row["second"])[side] == method]
        return float(np.mean(spent))

    def add(self, row: Record) -> None:
        """Keep a row in place of that with the same key."""
        self._new["rows"].append(row)
        if self._path is not None:
            write_record(self._path, merged(self._earlier, self._new, key=key_of))


def key_of(row: Record) -> tuple[str, ...]:
    """Return what identifies a row."""
    return row["kind"], *(str(row[name]) for name in KEYS[row["kind"]])


# ------------------------------------------------------------------------------------------------------ training


def train(options: argparse.Namespace) -> int:
    """Train or continue AlphaZero with each search and seed; finished runs are left as they are."""
    total, done, began = len(options.seeds) * len(options.searches), 0, time.monotonic()
    for seed in options.seeds:
        for search in options.searches:
            name = f"{search}_{seed}" if options.preset == "tictactoe" else f"{options.preset}_{search}_{seed}"
            if not _train_one(options, search, seed, options.folder / name):
                return INTERRUPTED
            done += 1
            left = (time.monotonic() - began) / done * (total - done) / 60
            print(f"{name}: {done} of {total} runs, {left:.0f} min left", flush=True)
    return 0


def _train_one(options: argparse.Namespace, search: str, seed: int, folder: Path) -> bool:
    """Run or continue one training, and add up its CPU time; return whether it has all its games."""
    games = ["--games", str(options.games)] if options.games else []
    if (folder / "config.json").exists():
        if games:
            raise UsageError(f"expected no --games for a run that has begun; {folder} holds one")
        call = ["--resume"]
    else:
        call = [options.preset, "--seed", str(seed), "--search", search, *TRAINED[options.preset], *SHORT_MATCHES, *games]
    code = 0
    if not _is_finished(folder):
        spent, path = time.process_time(), folder / "cpu_s.json"
        before = read_json(path)["cpu_s"] if path.exists() else 0.0
        code = long_run.main([*call, "--run", str(folder), "--workers", "0"], "the same command continues")
        if code not in (0, INTERRUPTED):
            raise UsageError(f"expected a run in {folder}; training ended with exit code {code}")
        write_whole(path, json.dumps({"cpu_s": round(before + time.process_time() - spent, 1)}) + "\n")
    return code == 0 and _is_finished(folder)


def _is_finished(folder: Path) -> bool:
    if not (folder / "elo.csv").exists():
        return False
    return read_evaluations(folder)[-1]["games"] >= read_json(folder / "config.json")["games"]


# ------------------------------------------------------------------------------------------------- tic-tac-toe


def curves(options: argparse.Namespace) -> int:
    """Count the losing lines of the networks that each run has evaluated, by the search of the run."""
    record = FamilyRecord(options.record)
    for number, folder in enumerate(options.runs, 1):
        origin = training_of(folder)
        if origin["board"] != board_name(TICTACTOE) or origin["method"] == "muzero":
            kind = f"{origin['method']} on {origin['board']}"
            raise UsageError(f"expected runs of self-play on tic-tac-toe; {folder} is one of {kind}")
        record.add(origin)
        for evaluation in read_evaluations(folder):
            _count_at(evaluation["games"], folder, origin, record)
        print(f"{folder.name}: {number} of {len(options.runs)} runs", flush=True)
    return 0


def _count_at(games: int, folder: Path, origin: Record, record: FamilyRecord) -> None:
    """Count the losing lines of the network that a run had after this number of games, unless the record has them."""
    point: Record = {"kind": "curve", "method": origin["method"], "seed": origin["seed"], "games": games}
    if record.find(point):
        return
    path, rng, losing = folder / "networks" / f"{games:07}.model", np.random.default_rng(0), {}
    for playouts in CHECKED_PLAYOUTS:
        agent = contestant(origin["method"], path, playouts, TICTACTOE, 64, rng)
        losing[str(playouts)] = play_searched_lines(TICTACTOE, agent.evaluate, agent.settings, rng).losing_lines
    record.add({**point, "losing_lines": losing})
    print(f"{folder.name}, {games} games: {losing}", file=sys.stderr, flush=True)


def lines(options: argparse.Namespace) -> int:
    """Count the losing lines of each method; networks and models are taken in pairs, the number of a pair seeds rollouts."""
    if len(options.models) > len(options.networks):
        raise UsageError("expected at least as many --networks as --models, since they are taken in pairs")
    record = FamilyRecord(options.record)
    models: list[Path | None] = [*options.models, *[None] * (len(options.networks) - len(options.models))]
    wanted = []
    for number, pair in enumerate(zip(options.networks, models, strict=True), 1):
        origins = [training_of(folder) for folder in pair if folder is not None]
        if odd := [origin["name"] for origin in origins if origin["board"] != board_name(TICTACTOE)]:
            raise UsageError(f"expected runs of tic-tac-toe; {odd[0]} is another board's")
        for origin in origins:
            record.add(origin)
        methods = [method for method in METHODS if method != "muzero" or pair[1] is not None]
        wanted += [(number, Sources(*pair), method, playouts) for method in methods for playouts in options.playouts]
    began, measured = time.monotonic(), 0
    for place, (number, sources, method, playouts) in enumerate(wanted):
        source, rng = sources.of(method), np.random.default_rng([number, playouts])
        seed = training_of(source)["seed"] if source is not None else number
        row: Record = {"kind": "lines", "method": method, "seed": seed, "playouts": playouts}
        if source is not None:
            row["network"] = source.name
        if record.find(row):
            continue
        agent = contestant(method, source, playouts, TICTACTOE, 64, rng)
        spent = time.process_time()
        result = play_searched_lines(TICTACTOE, agent.evaluate, agent.settings, rng)
        measured += 1
        record.add({**row, "losing_lines": result.losing_lines, "cpu_s": round(time.process_time() - spent, 2)})
        left = (time.monotonic() - began) / measured * (len(wanted) - place - 1) / 60
        print(
            f"{METHODS[method]}, seed {seed}, {playouts} playouts: {result.losing_lines} losing lines; "
            f"{place + 1} of {len(wanted)}, {left:.0f} min left",
            flush=True,
        )
    return 0


# -------------------------------------------------------------------------------------------------- round robin


@dataclass(frozen=True)
class RoundRobin:
    """What all pairings of a call share.

    Attributes:
        rules: the game.
        sources: the network and the model.
        games, side_by_side: the numbers of games in a pairing, and of those played at once.
        seed: the seed of openings and agents.
    """

    rules: GameRules
    sources: Sources
    games: int
    side_by_side: int
    seed: int

    def play(self, methods: tuple[str, str], playouts: tuple[int, int], games: int, seeds: Sequence[int]) -> Record:
        """Play a match; return the first method's result and the CPU milliseconds that each took for a move."""
        rngs = np.random.default_rng([self.seed, *seeds]).spawn(3)
        settings = MatchSettings(self.rules, games, side_by_side=min(games, self.side_by_side))
        first, second = (
            TimedAgent(contestant(method, self.sources.of(method), count, self.rules, settings.side_by_side // 2, rng))
            for method, count, rng in zip(methods, playouts, rngs[1:], strict=True)
        )
        match = play_lockstep_match((first, second), settings, rngs[0])
        spent = [round(1000 * agent.cpu_s / agent.moves, 2) for agent in (first, second)]
        return {**match_row(match), "distinct_games": match.statistics.distinct_games, "cpu_ms_a_move": spent}


def matches(options: argparse.Namespace) -> int:
    """Play all pairings that the record lacks, with each budget."""
    width, height, n_in_row = options.board
    rules = rules_of(options.game, width, height, n_in_row=n_in_row, komi=options.komi)
    contest = RoundRobin(rules, Sources(options.network, options.model), options.games, options.side_by_side, options.seed)
    MatchSettings(rules, options.games, side_by_side=options.side_by_side).check()
    record, board = FamilyRecord(options.record), board_name(rules)
    methods = options.methods or _possible(contest)
    named: dict[str, str] = {}
    for method in methods:
        if source := contest.sources.of(method):
            origin = training_of(source)
            if origin["board"] != board:
                raise UsageError(f"expected a run on {board} in {source}; it is one on {origin['board']}")
            named[method] = origin["name"]
            record.add(origin)
    equal = f"{options.playouts} playouts"
    rounds = [equal, EQUAL_TIME] if options.equal_time else [equal]
    pairings = [(budget, pair) for budget in rounds for pair in combinations(methods, 2)]
    began, played = time.monotonic(), 0
    for place, (budget, pair) in enumerate(pairings):
        row: Record = {"kind": "match", "board": board, "budget": budget, "first": pair[0], "second": pair[1]}
        counts = [options.playouts, options.playouts]
        if budget == EQUAL_TIME:  # the first round has ended, so the time per move of each method is known
            cpu_ms, *own = (record.cpu_ms(board, equal, method) for method in (options.equal_time, *pair))
            counts = [max(2, round(options.playouts * cpu_ms / cost)) for cost in own]
            row["cpu_ms"] = round(cpu_ms, 2)
        row |= {"seed": options.seed, "playouts": counts, "networks": [named.get(method) for method in pair]}
        if found := record.find({**row, "games": options.games}):
            print(f"{_described(found)} (recorded before)", flush=True)
            continue
        seeds = (rounds.index(budget), *(list(METHODS).index(method) for method in pair))
        row |= contest.play(pair, (counts[0], counts[1]), options.games, seeds)
        record.add(row)
        played += 1
        left = (time.monotonic() - began) / played * (len(pairings) - place - 1) / 60
        print(f"{_described(row)}; {place + 1} of {len(pairings)} pairings, {left:.0f} min left", flush=True)
    return 0


def _possible(contest: RoundRobin) -> list[str]:
    """Return the methods for which there is a network or a model."""
    given = {PURE: True, "muzero": contest.sources.model is not None}
    return [method for method in METHODS if given.get(method, contest.sources.network is not None)]


def _described(row: Record) -> str:
    counts = f"{row['won']} won, {row['drawn']} drawn, {row['lost']} lost"
    score = f"score {row['score']:.3f}, 95 % {row['low_95']:.3f} to {row['high_95']:.3f}"
    return f"{row['board']}, {row['budget']}, {METHODS[row['first']]} against {METHODS[row['second']]}: {counts}; {score}"


# ------------------------------------------------------------------------------------------------------ command


def parse_options(arguments: list[str] | None) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = Parser(prog="family.py", description=(__doc__ or "").split(", for")[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    each = commands.add_parser("train", help="train AlphaZero with PUCT and with Gumbel search")
    each.add_argument("folder", type=Path, help="folder for the runs, such as runs/family")
    each.add_argument("--preset", choices=sorted(TRAINED), default="tictactoe", help="the game (default tictactoe)")
    each.add_argument("--searches", nargs="+", choices=("puct", "gumbel"), default=["puct", "gumbel"])
    each.add_argument("--seeds", type=int, nargs="+", default=[1], metavar="N")
    each.add_argument("--games", type=int, metavar="N", help="number of games in a new run (default: as in the settings)")
    each = commands.add_parser("curves", help="losing lines of tic-tac-toe in the course of training")
    each.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="a run of `train`")
    add_record_option(each, "family")
    each = commands.add_parser("lines", help="losing lines of tic-tac-toe of finished networks, with each method")
    each.add_argument("--networks", type=Path, nargs="+", required=True, metavar="RUN", help="runs of `train`")
    each.add_argument("--models", type=Path, nargs="+", default=[], metavar="RUN", help="runs of training.muzero")
    each.add_argument("--playouts", type=int, nargs="+", default=[25, 100, 400], metavar="N")
    add_record_option(each, "family")
    each = commands.add_parser("matches", help="round robin with equal playouts, then with equal CPU time")
    each.add_argument("--game", choices=GAMES, default="gomoku", help="the game (default gomoku)")
    each.add_argument("--board", type=board_size, default=(5, 5, 4), metavar="WxHxN", help="the board (default 5x5x4)")
    each.add_argument("--komi", type=float, default=7.5, metavar="X", help="what white receives in Go (default 7.5)")
    each.add_argument("--network", type=Path, metavar="RUN", help="a run of `train` or weights with a manifest")
    each.add_argument("--model", type=Path, metavar="RUN", help="a run of training.muzero")
    each.add_argument("--methods", nargs="+", choices=list(METHODS), help="default: all for which something is given")
    each.add_argument("--playouts", type=int, default=64, metavar="N", help="playouts per move (default 64)")
    each.add_argument(
        "--equal-time",
        choices=list(METHODS),
        metavar="METHOD",
        help="play a second round robin, in which each method has about the CPU time per move that this one took in the first",
    )
    each.add_argument("--games", type=int, default=100, metavar="N", help="games in each pairing, even (default 100)")
    each.add_argument("--side-by-side", type=int, default=50, metavar="N", help="games at once, even (default 50)")
    each.add_argument("--seed", type=int, default=1, metavar="N", help="seed of openings and agents (default 1)")
    add_record_option(each, "family")
    options = parser.parse_args(arguments)
    playouts = getattr(options, "playouts", 2)
    if min(playouts if isinstance(playouts, list) else [playouts]) < 2:
        parser.error("expected --playouts of at least 2")
    if getattr(options, "equal_time", None) and options.methods and options.equal_time not in options.methods:
        parser.error(f"expected --equal-time to name one of the --methods; got {options.equal_time}")
    if getattr(options, "methods", None) and len(set(options.methods)) < 2:
        parser.error("expected at least two --methods")
    return options


COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "train": train,
    "curves": curves,
    "lines": lines,
    "matches": matches,
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command with the reference's network."""
    options = parse_options(arguments)
    torch.set_num_threads(1)
    assert set(TRAINED) <= set(RUN_PRESETS)
    with reference_package():
        return run_program("family.py", lambda: COMMANDS[options.command](options))


if __name__ == "__main__":
    sys.exit(main())
