"""The agents of bench/family.py, and where their networks come from."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from family_tables import PURE, SHARE
from recording import Record, read_json

from common.errors import UsageError
from games.catalog import rules_of
from games.gomoku.rules import GomokuRules
from games.protocol import GameRules
from training.alphago.mixed import MixedEvaluator
from training.export_run import read_evaluations
from training.inference.evaluators import Evaluator, InferenceNetwork, PositionCache
from training.matches import SearchAgent, load_inference_network, make_agent
from training.muzero.muzero_run import read_muzero_settings
from training.origin import settings_of_run
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.search.rollouts import make_rollouts
from training.selfplay.presets import RunConfig

LOADED: dict[tuple[Path, str, int], InferenceNetwork] = {}  # the network in use


def board_name(rules: GameRules) -> str:
    """Return the name of a board in the record, such as 5x5x4 or nogo 5x5."""
    size = f"{rules.width}x{rules.height}"
    return f"{size}x{rules.n_in_row}" if isinstance(rules, GomokuRules) else f"{rules.name} {size}"


@dataclass(frozen=True)
class Sources:
    """What the methods search with.

    Attributes:
        network: the folder of a run of `train`, or a file of weights with its manifest beside it, or None.
        model: the folder of a run of MuZero, or None.
    """

    network: Path | None
    model: Path | None

    def of(self, method: str) -> Path | None:
        """Return what a method needs, None for nothing.

        Raises:
            UsageError: it was not given.
        """
        if method == PURE:
            return None
        source = self.model if method == "muzero" else self.network
        if source is None:
            wanted = "the model of a run of MuZero" if method == "muzero" else "the network of a run of self-play"
            raise UsageError(f"expected {wanted} for {method}; none was given")
        return source


def training_of(folder: Path) -> Record:
    """Return where the network of a run, or of a file with a manifest, comes from, as a row of the record.

    Raises:
        UsageError: there is no such network.
    """
    if folder.is_file():
        return _training_by_manifest(folder)
    if not (folder / "config.json").exists():
        raise UsageError(f"expected the folder of a run, with config.json; {folder} has none")
    config = read_json(folder / "config.json")
    row: Record = {"kind": "network", "name": folder.name}
    try:
        if is_muzero(folder):
            muzero = read_muzero_settings(folder)
            with open(folder / "metrics.csv", newline="", encoding="utf-8") as file:
                last = list(csv.DictReader(file))[-1]
            row |= {"board": board_name(muzero.rules()), "method": "muzero", "games": int(last["games"])}
            return row | {"seed": muzero.seed, "playouts": muzero.playouts, "cpu_s": float(last["cpu_s"])}
        run = RunConfig(**config)
        spent = read_json(folder / "cpu_s.json")["cpu_s"]
        row |= {"board": board_name(run.rules()), "method": run.search, "games": read_evaluations(folder)[-1]["games"]}
        return row | {"seed": run.seed, "playouts": run.playouts, "cpu_s": spent}
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise UsageError(f"expected a run of `bench/family.py train` or training.muzero in {folder}; {error}") from error


def _training_by_manifest(weights: Path) -> Record:
    """Return the row of a file of weights, made by train.py or by a run of self-play; the latter did not note its CPU time."""
    manifest = read_json(weights.with_suffix(".json"))
    try:
        run = manifest["configurations"][0]
        width, height, n_in_row = manifest["board"]
        board = board_name(rules_of(manifest.get("game", "gomoku"), width, height, n_in_row=n_in_row))
        row: Record = {"kind": "network", "name": weights.name, "board": board, "seed": run["seed"]}
        if "n_playout" in run:  # train.py
            row |= {"method": "puct", "games": run["games"], "playouts": run["n_playout"]}
            return row | {"cpu_s": manifest["cpu_s"]["training"]}
        return row | {"method": run["search"], "games": manifest["games"], "playouts": run["playouts"], "cpu_s": None}
    except (LookupError, TypeError, ValueError) as error:
        raise UsageError(f"expected the manifest of a run of self-play beside {weights}; {error!r}") from error


def is_muzero(folder: Path) -> bool:
    """Return whether a run is one of MuZero, whose settings alone have the length of an unrolled sample."""
    return "unroll_steps" in read_json(folder / "config.json")


def contestant(
    method: str, source: Path | None, playouts: int, rules: GameRules, batch_size: int, rng: np.random.Generator
) -> SearchAgent:
    """Make the agent of a method.

    Args:
        method: a key of METHODS.
        source: the folder of the run with its network or model, or a file of weights.
        playouts: the number of playouts per move.
        rules: the game.
        batch_size: the number of games in which it chooses moves at once.
        rng: draws all random numbers of the agent.
    """
    if method == PURE:
        agent = make_agent(f"mcts:playouts={playouts}", rules, batch_size, rng)
    elif method == "muzero":
        agent = make_agent(f"muzero:{source}?playouts={playouts}", rules, batch_size, rng)
    else:
        assert source is not None
        weights = source / "best.model" if source.is_dir() else source
        evaluate: Evaluator = PositionCache(_loaded(weights, rules, batch_size))
        if method == "mixed":
            evaluate = MixedEvaluator(evaluate, evaluate, make_rollouts(rules, rng), SHARE)
        depth = settings_of_run(weights).get("search_depth", 0)  # as the search of the network's run
        settings: PuctSettings | GumbelSettings = PuctSettings(playouts, search_depth=depth)
        if method == "gumbel":
            settings = GumbelSettings(playouts, search_depth=depth)
        agent = SearchAgent(evaluate, settings, rng)
    assert isinstance(agent, SearchAgent)
    return agent


def _loaded(weights: Path, rules: GameRules, batch_size: int) -> InferenceNetwork:
    """Load a network once for all agents; each agent has a cache of positions of its own, so that it pays for all of them."""
    key = weights, board_name(rules), batch_size
    if key not in LOADED:
        LOADED.clear()
        LOADED[key] = load_inference_network(str(weights), rules, batch_size)
    return LOADED[key]
