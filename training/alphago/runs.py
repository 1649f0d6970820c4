"""Functions shared by the stages: networks and results in the folder of a run, and lines of progress."""

from __future__ import annotations

import csv
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from common.files import replacing, write_whole
from training.alphago.config import StagesConfig
from training.inference.evaluators import InferenceNetwork
from training.inference.networks import kind_of
from training.matches import PlayedMatch
from training.supervised.learning import REPORT_EVERY_S, load_checkpoint, model_of
from training.supervised.settings import CallError


def load_stage_network(folder: Path, config: StagesConfig) -> nn.Module:
    """Load the network of a stage.

    Raises:
        CallError: the stage has not been run, or it was run on another board or in another game.
    """
    weights = load_checkpoint(folder / "checkpoint.pt")["model"]
    rules = config.rules
    points, planes = len(weights["dense_layer_1.bias"]), weights["conv2d_1.weight"].shape[1]
    if points != rules.actions and kind_of(weights)[0] != "pooled":  # which suits boards of any size
        raise CallError(f"expected a network for {config.size}x{config.size} in {folder}; it has {points} points")
    if planes != rules.planes:
        raise CallError(f"expected a network for {rules.name} in {folder}, with {rules.planes} feature planes; it has {planes}")
    return model_of(weights, rules)


def samples_of(folder: Path) -> int | str:
    """Return the number of samples behind the network of a stage, or where its weights come from if it did not learn them.

    Raises:
        CallError: the stage has not been run.
    """
    samples: int | str = load_checkpoint(folder / "checkpoint.pt")["samples"]
    return samples


def digest_of(folder: Path) -> str:
    """Return a digest that identifies the weights of a stage: a stage that was run again may have as many samples as before.

    Raises:
        CallError: the stage has not been run.
    """
    state = load_checkpoint(folder / "checkpoint.pt")
    digest = hashlib.sha256()
    for name, weights in state["model"].items() if "model" in state else [("weights", state["weights"])]:
        digest.update(name.encode() + weights.numpy().tobytes())
    return digest.hexdigest()[:16]


def inference_network(
    model: nn.Module, config: StagesConfig, dtype: torch.dtype | None = None, batch_size: int = 64
) -> InferenceNetwork:
    """Return a fast copy of the network in its current state."""
    return InferenceNetwork(model, config.size, config.size, dtype=dtype, batch_size=batch_size)


def write_stage_result(folder: Path, result: dict[str, Any]) -> None:
    """Write the measurements of a stage to result.json."""
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / "result.json", json.dumps(result, indent=2) + "\n")


def read_stage_result(folder: Path) -> dict[str, Any]:
    """Read what `write_stage_result` wrote; return an empty dict if there is no result yet."""
    path = folder / "result.json"
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return result


def write_metrics(folder: Path, rows: list[dict[str, Any]]) -> None:
    """Write all rows of metrics.csv; those of an earlier version may lack a column."""
    with replacing(folder / "metrics.csv") as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, {name: None for row in rows for name in row})
        writer.writeheader()
        writer.writerows(rows)


def match_row(result: PlayedMatch) -> dict[str, Any]:
    """Return the first agent's result in a match, as a row."""
    seen = result.statistics
    low, high = seen.interval_95
    assert seen.score_rate is not None  # it is None only if no game was played
    counts = {"games": seen.games, "won": seen.wins, "drawn": seen.draws, "lost": seen.losses}
    return {**counts, "score": round(seen.score_rate, 4), "low_95": round(low, 4), "high_95": round(high, 4)}


class ProgressLine:
    """Prints a line of progress from time to time.

    Args:
        unit: the name of the things that are counted.
        total: their final number.
        done: their number at the start.
    """

    def __init__(self, unit: str, total: int, done: int) -> None:
        self._unit, self._total, self._first = unit, total, done
        self._start = self._reported = time.monotonic()

    def show(self, done: int) -> None:
        """Print a line if the last one was long enough ago."""
        now = time.monotonic()
        if now - self._reported < REPORT_EVERY_S or done == self._first:
            return
        self._reported = now
        rate = (done - self._first) / (now - self._start)
        left = (self._total - done) / rate / 60
        print(f"{done} of {self._total} {self._unit}, {rate:.2f} a second, {left:.0f} min left", flush=True)
