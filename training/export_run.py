"""The best network of a run of self-play, with a manifest: python -m training.export_run RUN WEIGHTS

WEIGHTS, such as model/5_5_4.model, is a bare float32 state_dict of the student's network; the manifest beside it says what
`training.export` says of others. Games played with them are entered by hand as `strength`.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import torch

from Minimax.arena.usage import UsageError
from training.export import write_manifest
from training.report import replace_bytes


def export(run: Path, weights: Path) -> dict[str, Any]:
    """Write weights and manifest.

    Returns:
        The manifest.

    Raises:
        UsageError: there is no run, or nothing has been evaluated in it.
    """
    try:
        config = json.loads((run / "config.json").read_text(encoding="utf-8"))
        state = torch.load(run / "checkpoint.pt", map_location="cpu", weights_only=True)
        replace_bytes(weights, (run / "best.model").read_bytes())
        with open(run / "elo.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise UsageError(f"expected a run that has evaluated a network in {run}; {error.filename}: {error.strerror}") from error
    best = rows[state["best"]]
    manifest = {
        "file": weights.name,
        "sha256": hashlib.sha256(weights.read_bytes()).hexdigest(),
        "board": [config["board_width"], config["board_height"], config["n_in_row"]],
        "blocks": config["blocks"],
        "origin": f"self-play from {config['init_model'] or 'nothing'}",
        "configurations": [config],
        "games": int(best["games"]),
        "samples": int(best["steps"]) * config["batch_size"],
        "hours": round(state["seconds"] / 3600, 2),
        "torch": torch.__version__,
        "elo_against_pure_mcts": {"elo": int(best["elo"]), "error_95": int(best["error_95"])},
        "strength": [],
    }
    write_manifest(weights.with_suffix(".json"), manifest)
    return manifest


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and export."""
    parser = argparse.ArgumentParser(prog="training.export_run", description="Weights with a manifest (docs/training.md).")
    parser.add_argument("run", type=Path, help="folder of a run of training.run")
    parser.add_argument("weights", type=Path, help="such as model/5_5_4.model")
    options = parser.parse_args(arguments)
    try:
        manifest = export(options.run, options.weights)
    except UsageError as error:
        print(f"training.export_run: {error}", file=sys.stderr)
        return 2
    print(f"{options.weights}: after {manifest['games']} games, {manifest['samples']} samples")
    return 0


if __name__ == "__main__":
    sys.exit(main())
