"""Export the weights of a training.supervised run, with a manifest:

    python -m training.export RUN WEIGHTS --games FILE... --engine REVISION

WEIGHTS, such as model/15_15_5.pt, is a bare float32 state_dict of the student's network. The manifest beside it, with the
suffix .json, says what the weights are and how they were trained. Match results are added to it by hand as `strength`; they
are dropped when the weights change.
"""

from __future__ import annotations

if __name__ == "__main__":
    from common.program_starts import leave_on_ctrl_c

    leave_on_ctrl_c("Interrupted.")  # torch takes seconds to import, and there is nothing to save

import hashlib
import io
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from common.files import write_whole
from common.program_ends import Parser, run_program
from common.subnormals import without_faded
from common.weights import read_sizes
from games.gomoku.rules import GomokuRules
from training.supervised.dataset import GamesError, read_games
from training.supervised.learning import deepened, load_training, model_of
from training.supervised.settings import CallError

BLOCKS = 19
ORIGIN = "supervised on games of the reference engine against itself; no self-play of the network"


def export_supervised(run: Path, weights: Path, games: Sequence[str], engine: str, blocks: int = BLOCKS) -> dict[str, Any]:
    """Write the weights and the manifest; the network is deepened with residual blocks that change nothing.

    Args:
        run: the folder of a training.supervised run.
        weights: the file to write.
        games: files of the games that the network learnt from.
        engine: the git revision of the engine that played them.
        blocks: the number of residual blocks in the exported weights.

    Returns:
        The manifest.

    Raises:
        CallError: there is no checkpoint of training.supervised, or its network has more blocks than that.
        GamesError: the games cannot be read.
    """
    state = load_training(run / "checkpoint.pt")
    settings = state["history"][-1]
    size, network = settings["size"], settings.get("network", "course")
    if network != "course":
        raise CallError(f"expected a run of the course's network in {run}, the only one to export; its network is {network}")
    rules = GomokuRules(size, size)
    model = model_of(state["model"], rules)
    trained = read_sizes(state["model"])[2]
    if trained > blocks:
        raise CallError(f"expected --blocks of at least {trained}, the number in the network in {run}; got {blocks}")
    teacher = [games_summary(path) for path in games]
    manifest = {
        "file": weights.name,
        "sha256": save_weights(weights, deepened(model, rules, blocks, settings["seed"]).state_dict()),
        "board": [size, size, 5],
        "blocks": blocks,
        "blocks_trained": trained,
        "origin": ORIGIN,
        "teacher": {"engine": engine, "games": teacher},
        "configurations": state["history"],
        "positions": state["positions"],
        "samples": state["samples"],
        "cpu_hours": round(state["cpu_s"] / 3600, 2),
        "torch": torch.__version__,
        "held_back": {name: round(number, 4) for name, number in state["held_back"].items()},
        "strength": [],
    }
    write_manifest(weights.with_suffix(".json"), manifest)
    return manifest


def save_weights(path: Path, layers: dict[str, torch.Tensor]) -> str:
    """Write a weights file completely or not at all, and return its sha256.

    Weights that have faded away become 0. The same weights give the same file; written to a path, torch would put the temporary
    name of the file into it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = io.BytesIO()
    torch.save({name: tensor.contiguous() for name, tensor in without_faded(layers).items()}, file)
    write_whole(path, file.getvalue())
    return hashlib.sha256(file.getvalue()).hexdigest()


def write_manifest(path: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest, and keep the `strength` of an earlier manifest of the same weights."""
    if path.exists():
        earlier = json.loads(path.read_text(encoding="utf-8"))
        if earlier["sha256"] == manifest["sha256"]:
            manifest["strength"] = earlier["strength"]
    write_whole(path, json.dumps(manifest, indent=2) + "\n")


def games_summary(path: str) -> dict[str, Any]:
    """Return the teacher's settings from a file of games, with the numbers of games, positions and results by colour."""
    settings, *games = read_games(path)
    winners = Counter(game["winner"] for game in games)
    results = {"black": winners[0], "white": winners[1], "drawn": winners[-1]}
    return {**settings, "games": len(games), "positions": sum(len(game["best"]) for game in games), "results": results}


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and export."""
    parser = Parser(prog="training.export", description="Export weights with a manifest (docs/training.md).")
    parser.add_argument("run", type=Path, help="folder of a training.supervised run")
    parser.add_argument("weights", type=Path, help="file to write, such as model/15_15_5.pt")
    parser.add_argument("--games", nargs="+", required=True, metavar="FILE", help="the teacher's games, for the manifest")
    parser.add_argument("--engine", required=True, metavar="REVISION", help="git revision that the teacher was built from")
    parser.add_argument("--blocks", type=int, default=BLOCKS, metavar="N", help=f"residual blocks (default {BLOCKS})")
    options = parser.parse_args(arguments)
    try:
        manifest = export_supervised(options.run, options.weights, options.games, options.engine, options.blocks)
    except (CallError, GamesError) as error:
        print(f"training.export: {error}", file=sys.stderr)
        return 2
    print(f"{options.weights}: {manifest['samples']} samples, held back {manifest['held_back']}")
    return 0


if __name__ == "__main__":
    sys.exit(run_program("training.export", main))
