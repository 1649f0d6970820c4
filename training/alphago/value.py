"""Stage value: a network that predicts the results of games of the improved policy (Silver et al. 2016, Methods, "Value
network: regression").

The positions of one game share one result and hardly differ, so a network that learns from many of them memorises the game.
Therefore each game provides one example. U is drawn from 1 to `longest_start`. The moves before move U are drawn from the
supervised policy; move U is drawn from all legal moves, which makes the positions more diverse; all later moves are drawn from
the improved policy. The example is the position after move U with the result z for its side to move. A game that is over by
then provides no example.

The games are stored in the format of the teacher's games (training.supervised.dataset). Only the position after move U is
labelled, and U is recorded as the length of the opening. training.supervised.learning does the rest, with only the value's term
in the loss. All scores are 0 and lambda is 1, so that the target value is z. The network starts from the weights of the
improved policy.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from common.files import write_whole
from games.protocol import GameRules, PositionBatch
from training.alphago.config import StagesConfig
from training.alphago.play import SampledPolicy, UniformPolicy, play_to_end, results_for
from training.alphago.runs import (
    ProgressLine,
    digest_of,
    inference_network,
    load_stage_network,
    samples_of,
    write_stage_result,
)
from training.inference.evaluators import StateEvaluator
from training.inference.networks import kind_of
from training.supervised.dataset import HELD_BACK_EVERY, position_keys, read_games
from training.supervised.learning import EVALUATED, Training, load_checkpoint
from training.supervised.settings import CallError

FLOOR_POSITIONS, FLOOR_GAMES = 512, 32  # held-back positions, and games from each of them, in a measurement of the floor


def play_games(config: StagesConfig, supervised: StateEvaluator, improved: StateEvaluator, number: int) -> list[dict[str, Any]]:
    """Play one batch of games side by side, and return them in the format of training.supervised.dataset.

    Args:
        config: the settings of all stages.
        supervised, improved: the networks of the stages supervised and reinforce.
        number: the number of the batch in the run; it seeds the random generator.
    """
    count, longest = config.value.side_by_side, config.value.longest_start
    rng = np.random.default_rng([config.seed, 3, number])
    times = rng.integers(1, longest + 1, size=count)
    before, at, after = SampledPolicy(supervised, rng), UniformPolicy(rng), SampledPolicy(improved, rng)
    played: list[list[int]] = [[] for _ in range(count)]

    def choose(live: PositionBatch, games: np.ndarray) -> np.ndarray:
        now = 1 + int(live.length[0])  # all games began at the same time
        moves = np.zeros(len(games), dtype=np.int64)
        for turn, agent in ((now < times[games], before), (now == times[games], at), (now > times[games], after)):
            if turn.any():
                moves[turn] = agent.choose(live.take(turn))
        for game, move in zip(games.tolist(), moves.tolist(), strict=True):
            played[game].append(move)
        return moves

    winners = play_to_end(config.rules.batch(count), choose)
    games = []
    for game, (moves, start) in enumerate(zip(played, times.tolist(), strict=True)):
        winner = int(winners[game])
        games.append(
            {
                "seed": number * count + game + 1,
                "opening": start,
                "winner": winner - 1 if winner > 0 else -1,
                "moves": moves,
                "best": moves[start : start + 1],
                "scores": [0] * (len(moves) - start),
                "random": [],
            }
        )
    return games


def write_games(config: StagesConfig, run: Path, path: Path) -> None:
    """Play the games that a file still lacks, many at a time, and append them to it.

    Raises:
        CallError: a network is missing, or the file holds games played with other networks or settings.
    """
    settings = config.value
    models = [load_stage_network(run / stage, config) for stage in ("supervised", "reinforce")]
    head = {
        **config.recorded_game,
        "seed": config.seed,
        "side_by_side": settings.side_by_side,
        "longest_start": settings.longest_start,
        "supervised_samples": samples_of(run / "supervised"),
        "reinforce_steps": load_checkpoint(run / "reinforce" / "checkpoint.pt")["steps"],
        "weights": {stage: digest_of(run / stage) for stage in ("supervised", "reinforce")},
    }
    lines = list(read_games(str(path))) if path.exists() else []
    if lines and not lines[0].items() <= head.items():  # an earlier version wrote less
        raise CallError(
            f"expected games of {head} in {path}; it begins with {lines[0]}: move {path.parent} away to play and learn again"
        )
    # An incomplete batch is played again.
    done = max(0, len(lines) - 1) // settings.side_by_side
    wanted = -(-settings.games // settings.side_by_side)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, _as_lines([head, *lines[1 : 1 + done * settings.side_by_side]]))
    if done >= wanted:
        return
    supervised = inference_network(models[0], config)
    improved = inference_network(models[1], config, supervised.dtype)
    progress = ProgressLine("games", wanted * settings.side_by_side, done * settings.side_by_side)
    with open(path, "a", encoding="utf-8") as file:
        for number in range(done, wanted):
            file.write(_as_lines(play_games(config, supervised, improved, number)))
            file.flush()
            os.fsync(file.fileno())
            progress.show((number + 1) * settings.side_by_side)


def _as_lines(items: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(item, separators=(",", ":")) + "\n" for item in items)


def all_positions(games: Sequence[dict[str, Any]], rules: GameRules, most: int | None) -> Iterator[dict[str, Any]]:
    """Yield the same games with every position labelled from the one after move U on; held-back games stay unchanged.

    Args:
        games: the result of `play_games`.
        rules: the game.
        most: once this number of different positions is labelled, leave out all later games that are not held back; None to
            use all.
    """
    labelled: set[int] = set()
    for game in games:
        if game["seed"] % HELD_BACK_EVERY == 0:
            yield game
        elif most is None or len(labelled) < most:
            moves, opening = game["moves"], game["opening"]
            labelled.update(position_keys(rules, np.asarray(moves))[opening : len(moves)].tolist())
            yield {**game, "best": moves[opening:]}


def train_value_network(config: StagesConfig, run: Path, games: Path, folder: Path) -> Training:
    """Train a value network to the end, or continue its training; Ctrl-C saves its state.

    Args:
        config: the settings of all stages.
        run: the folder of all stages, with the games of the stage.
        games: the games to learn from, those of the stage or games made from them (`all_positions`).
        folder: the folder of the training.

    Raises:
        CallError, GamesError: the games or networks cannot be used; or the training began with games of other networks, or
            ended with fewer games.
    """
    settings = config.value
    policy = load_stage_network(run / "reinforce", config)
    network, blocks, filters = kind_of(policy.state_dict())  # of --policy they may differ from the settings
    as_supervised = replace(
        config.supervised,
        network=network,
        filters=filters,
        depths=[[0, blocks]],
        samples=settings.samples,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        weight_decay=settings.weight_decay,
        value_weight=1.0,
        td_lambda=1.0,
        score_scale=1.0,
        check_every=settings.check_every,
        seed=config.seed,
    )
    training = Training(as_supervised, [str(games)], folder, policy_weight=0.0)
    folder.mkdir(parents=True, exist_ok=True)
    head, begun_from = next(read_games(str(run / "value" / "games.jsonl"))), folder / "begun_from.json"
    if training.checkpoint.exists():
        before = json.loads(begun_from.read_text(encoding="utf-8")) if begun_from.exists() else {}  # of an earlier version
        if not before.items() <= head.items():
            raise CallError(
                f"expected a value network that learns from games of {head} in {folder}; it began with {before}: move "
                f"{run / 'value'} away to play and learn again"
            )
        training.restore()
        learnt = load_checkpoint(training.checkpoint)["positions"]
        if training.samples >= settings.samples and learnt != len(training.train):
            raise CallError(
                f"expected more samples in [value] to learn from the {len(training.train)} positions in {games}; the network "
                f"in {folder} has learnt from {learnt}"
            )
    else:
        write_whole(begun_from, json.dumps(head) + "\n")
        training.model.load_state_dict(policy.state_dict())
    try:
        training.run()
    except KeyboardInterrupt:
        training.save()
        raise
    return training


def measured_training(training: Training) -> dict[str, Any]:
    """Return the size of a run and its mean squared errors, on the latest training samples and on held-back positions."""
    with open(training.run_folder / "metrics.csv", encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    return {
        "positions": len(training.train),
        "samples": training.samples,
        "cpu_s": round(training.cpu_s),
        "mse_learnt_from": float(last["train_value_loss"]),
        "mse_held_back": round(training.evaluate()["value_mse"], 4),
    }


def error_floor(results: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
    """Return what part of a network's squared error is the chance in the games, which no network can predict.

    Args:
        results: [K, N] the results of K games from each of N positions, for their sides to move; K is at least 2.
        predicted: [N] the values that the network predicts.

    Returns:
        The floor, which is the mean over the positions of the variance of their results, with its 95 % error; and the mean
        squared difference to the expected result of each position, both of the network and of one value for all positions. A
        squared error of predicted results is the sum of such a difference and the floor.
    """
    noise, means = results.var(axis=0, ddof=1), results.mean(axis=0)
    floor = float(noise.mean())
    of_means = floor / len(results)  # the squared error of the means themselves
    return {
        "floor": round(floor, 4),
        "floor_error_95": round(1.96 * float(noise.std()) / len(noise) ** 0.5, 4),
        "network_above_floor": round(float(np.square(predicted - means).mean()) - of_means, 4),
        "mean_above_floor": round(float(means.var()) - of_means, 4),
    }


def measured_floor(config: StagesConfig, run: Path, training: Training) -> dict[str, float]:
    """Play games of the improved policy from held-back positions to their ends, and return `error_floor` and the numbers."""
    held_back = replace(training.held_back, rules=config.rules)  # those of the training do not know when a game ends
    chosen = np.arange(min(FLOOR_POSITIONS, len(held_back)))
    boards = held_back.boards(chosen, np.zeros_like(chosen))
    improved = inference_network(load_stage_network(run / "reinforce", config), config)
    agent = SampledPolicy(improved, np.random.default_rng([config.seed, 7]))
    results = [
        results_for(boards.side_to_move, play_to_end(boards, lambda live, _: agent.choose(live))) for _ in range(FLOOR_GAMES)
    ]
    predicted = inference_network(training.model, config, improved.dtype)(boards.feature_planes())[1]
    return {"positions": len(chosen), "games_from_each": FLOOR_GAMES, **error_floor(np.stack(results), predicted)}


def run_value(config: StagesConfig, run: Path, compare: bool, floor: bool = False) -> dict[str, Any]:
    """Run the whole stage.

    Args:
        config: the settings of all stages.
        run: the folder of all stages.
        compare: train two more networks on all positions from the one after move U on: one on as many positions but fewer
            games (the paper's comparison), one on all games.
        floor: measure how much of the error is chance (`error_floor`), which takes a minute or two.

    Returns:
        The number of games, and the result of `measured_training` for each network. All are measured on the same positions,
        from which none of them has learnt. For comparison, the result also gives the errors on these positions of the
        supervised value head, of the network before its training, and of predicting the mean.
    """
    folder = run / "value"
    path = folder / "games.jsonl"
    write_games(config, run, path)
    trainings = {"one_position_a_game": train_value_network(config, run, path, folder)}
    if compare:
        _, *games = read_games(str(path))
        most = len(trainings["one_position_a_game"].train)
        for name, limit in (("as_many_positions_of_fewer_games", most), ("all_positions_of_all_games", None)):
            other = folder / name
            other.mkdir(parents=True, exist_ok=True)
            write_whole(other / "games.jsonl", _as_lines([config.recorded_game, *all_positions(games, config.rules, limit)]))
            trainings[name] = train_value_network(config, run, other / "games.jsonl", other)
    # The last one has trained on the positions of all others, so none of them has learnt from the positions it holds back.
    *_, widest = trainings.values()
    for training in trainings.values():
        training.held_back = widest.held_back
    played = sum(1 for _ in read_games(str(path))) - 1  # without the settings
    result: dict[str, Any] = {"games": played, "held_back_positions": min(EVALUATED, len(widest.held_back))}
    result |= {name: measured_training(training) for name, training in trainings.items()}
    if floor:
        result["chance"] = measured_floor(config, run, trainings["one_position_a_game"])
    for stage in ("supervised", "reinforce"):
        widest.model.load_state_dict(load_stage_network(run / stage, config).state_dict())
        result[f"mse_of_{stage}"] = round(widest.evaluate()["value_mse"], 4)
    result["mse_of_the_mean"] = round(float(np.var(widest.held_back.value[:EVALUATED])), 4)
    write_stage_result(folder, result)
    return result
