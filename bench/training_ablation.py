"""Measure what each switch of self-play is worth: `python bench/training_ablation.py FOLDER --preset 9x9x5 --cpu-minutes 60`.

For each seed, a plain run of `training.selfplay` and a run with each switch (SWITCHES) are trained from nothing, for the same
CPU time of self-play, training steps and the gate's matches. Then the network of each run plays against that of the plain run
with the same seed, at equal playouts, with the search of the runs and with paired openings (the same ones for all switches).

The runs are in FOLDER/SWITCH_SEED. After Ctrl-C or a kill, the same command continues them; a run that has ended is not trained
again, and a match that has been played is not repeated. `--record` writes each result to bench/records/training_ablation.json
as soon as there is one, from which bench/tables.py makes the table of docs/training.md; rows of other switches and seeds stay.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from network_tables import training_ablation
from recording import Record, add_record_option, earlier_record, merged, read_json, write_record
from reference_package import reference_package

from arena.match.records import machine
from common.errors import UsageError
from common.files import write_whole
from common.program_ends import Parser, run_program
from common.program_starts import INTERRUPTED
from training.alphago.runs import match_row
from training.matches import MatchSettings, make_agent, play_lockstep_match
from training.selfplay import long_run
from training.selfplay.presets import RUN_PRESETS, RunConfig, add_options, changed

# The settings of all runs. Only their CPU time ends them, and nothing depends on the matches for the ratings.
ALL_RUNS = "--search puct --no-gate --games 100000000 --rating-games 2 --mcts-playouts 2 --window-share 1 --no-structured-start"
SWITCHES = {
    "sharpened": "--sharpened-targets",
    "window": "--window-share 0.4",
    "openings": "--opening-stones 4",
    "capped": "--full-share 0.25 --fast-playouts 8",
    "forced": "--forced-playouts-k 2",
    "mixed-value": "--root-value-weight 0.25",
    "resignation": "--resign-below -0.9",
    "gate": "--gate",
    "structured": "--structured-start",
    "int8": "--backend int8",
}
USUAL = [name for name in SWITCHES if name != "int8"]  # which needs NNCF
PLAIN = "plain"
SIDE_BY_SIDE = 64


def words_of(options: argparse.Namespace, switch: str, seed: int) -> list[str]:
    """Return the words on the command line that begin a run, but for its folder."""
    own = f"--seed {seed} --cpu-minutes {options.cpu_minutes}"
    return [options.preset, *shlex.split(f"{own} {ALL_RUNS} {options.settings} {SWITCHES.get(switch, '')}")]


def config_of(words: list[str]) -> RunConfig:
    """Return the settings of a run that is begun with these words.

    Raises:
        UsageError: they cannot work together.
    """
    parser = Parser(prog="training_ablation.py")
    add_options(parser)
    return changed(RUN_PRESETS[words[0]], parser.parse_args(words[1:]))


def train(words: list[str], folder: Path) -> Record | None:
    """Begin a run or continue it to its end.

    Args:
        words: its settings.
        folder: the folder of the run.

    Returns:
        The last evaluation, which says how many games, samples and CPU seconds made the network; None after Ctrl-C.

    Raises:
        UsageError: the folder holds a run with other settings, or training failed.
    """
    if (folder / "config.json").exists():
        begun = read_json(folder / "config.json")
        if other := [name for name, value in asdict(config_of(words)).items() if begun.get(name) != value]:
            raise UsageError(f"expected a run with the same settings in {folder}; it differs in {', '.join(other)}")
        if evaluation := last_evaluation(folder):
            return evaluation
        words = ["--resume"]
    code = long_run.main([*words, "--run", str(folder), "--workers", "0"], "the same command continues")
    if code == INTERRUPTED:
        return None
    if code:
        raise UsageError(f"expected a run in {folder}; training ended with exit code {code}")
    return last_evaluation(folder)


def last_evaluation(folder: Path) -> Record | None:
    """Return the last evaluation of a run that is complete, and None for others."""
    state = torch.load(folder / "checkpoint.pt", map_location="cpu", weights_only=True)
    return dict(state["evaluations"][-1]) if state.get("complete") else None


def play(options: argparse.Namespace, folders: tuple[Path, Path], config: RunConfig) -> Record:
    """Play the network of a run against that of the plain run with its seed, unless the match has been played.

    Args:
        options: the numbers of games and playouts.
        folders: of the run and of the plain run.
        config: the settings of the run.

    Returns:
        The result of the run's network, and these numbers.
    """
    path = folders[0] / "match.json"
    settings = {"games": options.games, "playouts": options.playouts}
    if path.exists() and settings.items() <= (played := read_json(path)).items():
        return played
    rules, kind = config.rules(), "gumbel" if config.search == "gumbel" else "alphazero"
    rngs = np.random.default_rng(config.seed).spawn(3)
    side_by_side = min(options.games, SIDE_BY_SIDE)
    backend = "auto" if config.backend == "int8" else config.backend  # int8 is for self-play; both play in the same way
    first, second = (
        make_agent(f"{kind}:{folder / 'best.model'}?playouts={options.playouts}", rules, side_by_side // 2, rng, backend)
        for folder, rng in zip(folders, rngs[1:], strict=True)
    )
    match = play_lockstep_match((first, second), MatchSettings(rules, options.games, side_by_side=side_by_side), rngs[0])
    row = {**settings, **match_row(match), "distinct_games": match.statistics.distinct_games}
    write_whole(path, json.dumps(row) + "\n")
    return row


def measure(options: argparse.Namespace, record: Record, earlier: Record | None) -> int:
    """Train and play what is missing, and add a row for each switch and seed to the record."""
    runs = [(seed, switch) for seed in options.seeds for switch in (PLAIN, *options.switches)]
    settings = {run: words_of(options, run[1], run[0]) for run in runs}
    configs = {run: config_of(words) for run, words in settings.items()}  # refuses what cannot work before anything is trained
    plain: Record = {}
    for number, run in enumerate(runs, 1):
        seed, switch = run
        folder, name = options.folder / f"{switch}_{seed}", f"{switch}, seed {seed} ({number} of {len(runs)} runs)"
        trained = train(settings[run], folder)
        if trained is None:
            return INTERRUPTED
        cost = f"{trained['games']} games, {trained['samples']} samples, {trained['cpu_s']:.0f} CPU s"
        if switch == PLAIN:
            plain = trained
            print(f"{name}: {cost}", flush=True)
            continue
        match = play(options, (folder, options.folder / f"{PLAIN}_{seed}"), configs[run])
        both = {f"run_{part}": [one[part] for one in (trained, plain)] for part in ("games", "samples", "cpu_s")}
        record["rows"].append({"switch": switch, "options": SWITCHES[switch], "seed": seed, **match, **both})
        if options.record:
            write_record(options.record, merged(earlier, record, key=lambda row: (row["switch"], row["seed"])))
        score = f"score {match['score']:.3f}, 95 % {match['low_95']:.3f} to {match['high_95']:.3f}"
        print(f"{name}: {cost}; {score} in {match['games']} games against the plain run", flush=True)
    print(f"\n{training_ablation(record)}", end="")
    return 0


def parse_options(arguments: list[str] | None = None) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = Parser(prog="training_ablation.py", description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path, help="folder for the runs, such as runs/ablation")
    parser.add_argument("--preset", choices=sorted(RUN_PRESETS), default="9x9x5", help="settings (default 9x9x5)")
    parser.add_argument(
        "--settings", default="", metavar="OPTIONS", help="further settings of all runs, such as '--blocks 4 --playouts 48'"
    )
    parser.add_argument("--switches", nargs="+", choices=list(SWITCHES), default=USUAL, help="default: all but int8")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], metavar="N", help="default 1 2 3")
    parser.add_argument("--cpu-minutes", type=float, default=60.0, metavar="X", help="CPU time of each run (default 60)")
    parser.add_argument("--games", type=int, default=200, metavar="N", help="games in each match, even (default 200)")
    parser.add_argument("--playouts", type=int, default=64, metavar="N", help="playouts per move in matches (default 64)")
    add_record_option(parser, "training_ablation")
    options = parser.parse_args(arguments)
    if not options.cpu_minutes > 0 or options.playouts < 2 or options.games < 2 or options.games % 2:
        parser.error("expected --cpu-minutes above 0, --playouts of at least 2, and an even number of --games")
    return options


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line, and measure with the reference's network."""
    options = parse_options(arguments)
    torch.set_num_threads(1)
    more = f" --settings {shlex.quote(options.settings)}" if options.settings else ""
    counts = f"--cpu-minutes {options.cpu_minutes:g} --games {options.games} --playouts {options.playouts}{more}"
    command = f"python bench/training_ablation.py FOLDER --preset {options.preset} {counts}"
    record: Record = {"command": command, "machine": {**machine(), "torch": torch.__version__, "threads": 1}, "rows": []}

    def run() -> int:
        with reference_package():
            return measure(options, record, earlier_record(options.record, command))

    return run_program("training_ablation.py", run)


if __name__ == "__main__":
    sys.exit(main())
