"""Export the best network of a self-play run, with a manifest: python -m training.export_run RUN WEIGHTS

WEIGHTS, such as model/5_5_4.model, is a bare float32 state_dict of the student's network. The manifest beside it is like that
of `training.export`; `started_from` is the manifest of the weights that the run started from, and `evaluations` has the rows
of elo.csv. Match results are added by hand as `strength`. --blocks deepens the network with residual blocks that change
nothing, for example to the 19 blocks of published weights.
"""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")  # torch takes seconds to import, and there is nothing to save

import csv
import json
import sys
from pathlib import Path
from typing import Any

import torch

from common.errors import UsageError
from common.program_ends import Parser, run_program
from games.gomoku.rules import GomokuRules
from training.export import save_weights, write_manifest
from training.supervised.learning import deepened, model_of


def export_selfplay(run: Path, weights: Path, blocks: int | None = None) -> dict[str, Any]:
    """Write the weights and the manifest.

    Args:
        run: the folder of the run.
        weights: the file to write.
        blocks: the number of residual blocks in the exported weights; None for as many as the run's network has.

    Returns:
        The manifest.

    Raises:
        UsageError: there is no run, it has not evaluated a network yet, or its network cannot be given this number of blocks.
    """
    try:
        config = json.loads((run / "config.json").read_text(encoding="utf-8"))
        state = torch.load(run / "checkpoint.pt", map_location="cpu", weights_only=True)
        layers = torch.load(run / "best.model", map_location="cpu", weights_only=True)
        evaluations = read_evaluations(run)
        best = evaluations[state["best"]]
    except OSError as error:
        raise UsageError(f"expected a run that has evaluated a network in {run}; {error.filename}: {error.strerror}") from error
    except IndexError as error:
        raise UsageError(f"expected all evaluations in {run / 'elo.csv'}; the last is missing: continue the run") from error
    except Exception as error:  # torch's unpickler has no common class for the errors of a damaged file
        raise UsageError(f"expected a run of training.selfplay in {run}; files are damaged or of another program") from error
    width, height, trained = config["board_width"], config["board_height"], config["blocks"]
    if blocks not in (None, trained):
        if config.get("network", "course") != "course":
            raise UsageError(f"expected no --blocks, since only the course's network can be deepened; got {blocks}")
        if blocks < trained or width != height:
            raise UsageError(
                f"expected --blocks of at least the run's {trained} and a square board; got {blocks}, {width}x{height}"
            )
        rules = GomokuRules(width, height, config["n_in_row"])
        layers = deepened(model_of(layers, rules), rules, blocks, config["seed"]).state_dict()
    manifest = {
        "file": weights.name,
        "sha256": save_weights(weights, layers),
        "board": [width, height, config["n_in_row"]],
        "game": config.get("game", "gomoku"),
        "network": config.get("network", "course"),
        "blocks": blocks or trained,
        "blocks_trained": trained,
        "origin": f"self-play from {config['init_model'] or 'nothing'}",
        "configurations": state["history"],
        "computed_by": state.get("computed_by", []),
        "games": best["games"],
        "samples": state["evaluations"][state["best"]].get("samples", best["steps"] * config["batch_size"]),
        "hours": round(state["seconds"] / 3600, 2),
        "torch": torch.__version__,
        "elo_against_pure_mcts": {"elo": best["elo"], "error_95": best["error_95"]},
        "evaluations": evaluations,
        "strength": [],
    }
    if config["init_model"] and (before := Path(config["init_model"]).with_suffix(".json")).exists():
        manifest["started_from"] = json.loads(before.read_text(encoding="utf-8"))
    write_manifest(weights.with_suffix(".json"), manifest)
    return manifest


def read_evaluations(run: Path) -> list[dict[str, int]]:
    """Return the rows of a run's elo.csv; a row lacks the counts of a match that was not played.

    Raises:
        OSError: the file cannot be read.
    """
    with open(run / "elo.csv", encoding="utf-8") as file:
        return [{name: int(value) for name, value in row.items() if value} for row in csv.DictReader(file)]


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and export."""
    parser = Parser(prog="training.export_run", description="Export weights with a manifest (docs/training.md).")
    parser.add_argument("run", type=Path, help="folder of a training.selfplay run")
    parser.add_argument("weights", type=Path, help="file to write, such as model/5_5_4.model")
    parser.add_argument("--blocks", type=int, metavar="N", help="residual blocks (default: the run's)")
    options = parser.parse_args(arguments)
    try:
        manifest = export_selfplay(options.run, options.weights, options.blocks)
    except UsageError as error:
        print(f"training.export_run: {error}", file=sys.stderr)
        return 2
    print(f"{options.weights}: after {manifest['games']} games, {manifest['samples']} samples")
    return 0


if __name__ == "__main__":
    sys.exit(run_program("training.export_run", main))
