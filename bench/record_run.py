"""Record the measurements of a finished run that has no manifest, for the tables of docs/training.md:

    python bench/record_run.py alphago runs/alphago_9 --games runs/teacher/9/a.jsonl
    python bench/record_run.py alphago-seeds runs/alphago_nogo_7_{1,2,3} --games runs/teacher/nogo_7/a.jsonl
    python bench/record_run.py selfplay runs/ttt
    python bench/record_run.py muzero runs/muzero_1 runs/muzero_2

The first command copies the result.json of AlphaGo's stages (`python -m training.alphago`) and counts the teacher's games.
The second does so for several runs, one for each seed, of a game that has no rollout policy. The third copies elo.csv of a run
of self-play on 3x3 and counts the lines that each evaluated network loses to every line of replies, with the grader's search.
The fourth copies what runs of MuZero on 3x3 (`python -m training.muzero`) have counted themselves, and compares their latest
models with the rules; seeds that the record already has stay in it. Afterwards `python bench/tables.py` rewrites the tables.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np
import torch
from recording import RECORDS, Record, earlier_record, merged, read_json, write_record

from arena.match.records import machine
from common.errors import UsageError
from common.program_ends import Parser
from common.weights import load_weights
from grader.judge.trusted.agents import network_agent
from training.exact import play_all_replies
from training.export import games_summary
from training.export_run import read_evaluations
from training.muzero.exact_player import model_accuracy, random_games
from training.muzero.muzero_run import read_muzero_run, read_muzero_settings
from training.muzero.muzero_settings import MUZERO_PRESETS, MuZeroConfig
from training.selfplay.presets import option
from training.supervised.dataset import GamesError, read_games

STAGES = ("supervised", "rollout", "reinforce", "value", "search")
PLAYOUTS = (100, 400)
RANDOM_GAMES = 500  # on which a learnt model is compared with the rules


def alphago_record(run: Path, games: Path, cpu_s: int | None = None) -> Record:
    """Return the record of AlphaGo's stages.

    Args:
        run: the folder of all stages.
        games: the teacher's games.
        cpu_s: the processor time of the teacher; its games do not contain it, and None leaves it out.

    Raises:
        UsageError: a stage is not finished.
        GamesError: the games cannot be read.
    """
    teacher = games_summary(str(games)) | ({} if cpu_s is None else {"cpu_s": cpu_s})
    stages = {stage: read_json(run / stage / "result.json") for stage in STAGES}
    command = [f"python -m training.alphago {stage} --run {run}" for stage in STAGES]
    return {"command": command, "machine": _here(), "teacher": teacher, **stages}


def alphago_seeds_record(runs: Sequence[Path], games: Path, config: str) -> Record:
    """Return the record of AlphaGo's stages without a rollout policy, one run for each seed.

    Args:
        runs: the folders of the runs.
        games: the teacher's games.
        config: the file of settings of the runs.

    Raises:
        UsageError: a stage is not finished.
        GamesError: the games of the teacher or of a run cannot be read.
    """
    stages_run = [stage for stage in STAGES if stage != "rollout"]
    rows = []
    for run in runs:
        stages = {stage: read_json(run / stage / "result.json") for stage in stages_run}
        rows.append({"seed": next(read_games(str(run / "value" / "games.jsonl")))["seed"], **stages})
    command = [f"python -m training.alphago {stage} --config {config} --run RUN --seed SEED" for stage in stages_run]
    rows.sort(key=lambda row: row["seed"])
    return {"command": command, "machine": _here(), "teacher": games_summary(str(games)), "rows": rows}


def selfplay_record(run: Path) -> Record:
    """Return the record of a run of self-play on 3x3.

    Raises:
        UsageError: the run is on another board or has not evaluated a network.
    """
    config = read_json(run / "config.json")
    board = tuple(config[name] for name in ("board_width", "board_height", "n_in_row"))
    if board != (3, 3, 3):
        raise UsageError(f"expected a run on 3x3 in {run}, where every line can be played; it is on {board[0]}x{board[1]}")
    rows = []
    try:
        for row in read_evaluations(run):
            weights = load_weights(run / "networks" / f"{row['games']:07}.model")
            losing = {str(number): play_all_replies(network_agent(weights, number)).losing_lines for number in PLAYOUTS}
            rows.append({**row, "losing_lines": losing})
    except (OSError, ValueError) as error:
        raise UsageError(f"expected evaluated networks in {run}; {error}") from error
    return {
        "command": f"python -m training.selfplay --run {run}",
        "machine": _here(),
        "configuration": config,
        "rows": rows,
    }


def muzero_command(config: MuZeroConfig) -> str:
    """Return the command of a run with these settings and any seed."""
    settings, preset = asdict(config), asdict(MUZERO_PRESETS["tictactoe"])
    changed = [f" {option(name)} {value}" for name, value in settings.items() if name != "seed" and value != preset[name]]
    return f"python -m training.muzero tictactoe --run runs/muzero_SEED --seed SEED{''.join(changed)}"


def muzero_record(runs: Sequence[Path], command: str, earlier: Record | None = None) -> Record:
    """Return the record of runs of MuZero on 3x3, one for each seed; a run may still be going on.

    Args:
        runs: the folders of the runs.
        command: the command of such a run.
        earlier: a record whose other seeds are kept, or None.

    Raises:
        UsageError: a folder holds no such run, or two runs, one of them perhaps in the earlier record, differ in more than
            their seeds.
    """
    rows, accuracy = [], []
    settings: Record = earlier["configuration"] if earlier else {}
    for run in runs:
        config, model = read_muzero_run(run)
        if not config.is_tictactoe:
            raise UsageError(f"expected a run of tic-tac-toe in {run}; it is on {config.board_width}x{config.board_height}")
        own = {name: value for name, value in asdict(config).items() if name != "seed"}
        if settings and own != settings:
            differing = [name for name in own if own[name] != settings.get(name)]
            wanted = "runs that differ only in their seeds, also from those of the record (--record names another file)"
            raise UsageError(f"expected {wanted}; {run} differs in {', '.join(differing)}")
        settings = own
        with open(run / "metrics.csv", newline="", encoding="utf-8") as file:
            metrics = list(csv.DictReader(file))
        for row in metrics:
            if row["losing_lines_100"]:
                counts = {name: int(row[name]) for name in ("games", "steps")}
                times = {name: float(row[name]) for name in ("cpu_s", "check_cpu_s")}
                losing = {str(number): int(row[f"losing_lines_{number}"]) for number in PLAYOUTS}
                rows.append({"seed": config.seed, **counts, **times, "losing_lines": losing})
        games = random_games(config, RANDOM_GAMES, np.random.default_rng(0))
        for step in model_accuracy(model, games):
            accuracy.append({"seed": config.seed, "games": int(metrics[-1]["games"]), **asdict(step)})
    new = {"command": command, "machine": _here(), "configuration": settings, "rows": rows}
    recorded = {row["seed"] for row in accuracy}
    kept = [row for row in earlier["accuracy"] if row["seed"] not in recorded] if earlier else []
    return {**merged(earlier, new, lambda row: (row["seed"], row["games"])), "accuracy": kept + accuracy}


def _here() -> Record:
    return {**machine(), "torch": torch.__version__}


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and write the record."""
    parser = Parser(description=(__doc__ or "").split("\n\n")[0])
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="KIND")
    alphago = kinds.add_parser("alphago", help="the stages of AlphaGo on 9x9")
    alphago.add_argument("run", type=Path, help="folder of all stages, such as runs/alphago_9")
    alphago.add_argument("--games", type=Path, required=True, metavar="FILE", help="the teacher's games")
    alphago.add_argument("--teacher-cpu-s", type=int, metavar="SECONDS", help="processor time of the teacher, if known")
    seeds = kinds.add_parser("alphago-seeds", help="the stages of AlphaGo on NoGo 7x7, for several seeds")
    seeds.add_argument(
        "runs", type=Path, nargs="+", metavar="RUN", help="a folder for each seed, such as runs/alphago_nogo_7_1"
    )
    seeds.add_argument("--games", type=Path, required=True, metavar="FILE", help="the teacher's games")
    seeds.add_argument("--config", default="training/configs/alphago_nogo_7.toml", metavar="FILE", help="settings of the runs")
    selfplay = kinds.add_parser("selfplay", help="self-play on 3x3")
    selfplay.add_argument("run", type=Path, help="folder of the run, such as runs/ttt")
    muzero = kinds.add_parser("muzero", help="MuZero on 3x3")
    muzero.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="a folder for each seed, such as runs/muzero_1")
    for kind, name in (
        (alphago, "alphago_9"),
        (seeds, "alphago_nogo_7"),
        (selfplay, "selfplay_tictactoe"),
        (muzero, "muzero_tictactoe"),
    ):
        kind.add_argument("--record", type=Path, default=RECORDS / f"{name}.json", metavar="FILE", help="file to write")
    options = parser.parse_args(arguments)
    try:
        if options.kind == "alphago":
            record = alphago_record(options.run, options.games, options.teacher_cpu_s)
        elif options.kind == "alphago-seeds":
            record = alphago_seeds_record(options.runs, options.games, options.config)
        elif options.kind == "muzero":
            command = muzero_command(read_muzero_settings(options.runs[0]))
            record = muzero_record(options.runs, command, earlier_record(options.record, command))
        else:
            record = selfplay_record(options.run)
    except (UsageError, GamesError) as error:
        print(f"record_run.py: {error}", file=sys.stderr)
        return 2
    write_record(options.record, record)
    return 0


if __name__ == "__main__":
    sys.exit(main())
