"""Stage 3: a network that foretells the result of the improved policy's games (Silver et al. 2016, Methods, "Value network:
regression").

Positions of one game have one result and hardly differ, and a network that sees many of them remembers the game. So each game
gives one example. U is drawn from 1 to `longest_start`; the moves before time U are drawn from the supervised policy, move U
from all legal ones, which makes positions more various, and all others from the improved policy. The example is the position
after move U with the result z for its side to move; a game that is over by then gives none.

The games are kept as those of the teacher are (training.dataset), with the position after move U as the only one to learn from
and U as the number of stones of the opening; training.supervised does the rest, with the value's loss alone. Scores are all 0
and lambda is 1, so that the value to learn is z. The network begins as the improved policy.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from common.weights import read_sizes
from training.alphago.config import StagesConfig
from training.alphago.play import SampledPolicy, UniformPolicy, play_to_end
from training.alphago.runs import Progress, inference_network, load_stage_network, write_stage_result, write_text
from training.boards import Boards
from training.dataset import HELD_BACK_EVERY, read_games
from training.inference import StateEvaluator
from training.supervised import EVALUATED, CallError, SupervisedConfig, Training, load_checkpoint


def play_games(config: StagesConfig, supervised: StateEvaluator, improved: StateEvaluator, number: int) -> list[dict[str, Any]]:
    """Games side by side, the so-and-so-many-th of a run, as training.dataset takes them.

    Args:
        config: of all stages.
        supervised, improved: the networks of stages 1 and 2.
        number: of these games; what is drawn follows from it.
    """
    count, longest = config.value.side_by_side, config.value.longest_start
    rng = np.random.default_rng([config.seed, 3, number])
    times = rng.integers(1, longest + 1, size=count)
    before, at, after = SampledPolicy(supervised, rng), UniformPolicy(rng), SampledPolicy(improved, rng)
    played: list[list[int]] = [[] for _ in range(count)]

    def choose(live: Boards, games: np.ndarray) -> np.ndarray:
        now = 1 + int(live.length[0])  # all of them began together
        moves = np.zeros(len(games), dtype=np.int64)
        for turn, agent in ((now < times[games], before), (now == times[games], at), (now > times[games], after)):
            if turn.any():
                moves[turn] = agent.choose(live.take(turn))
        for game, move in zip(games.tolist(), moves.tolist(), strict=True):
            played[game].append(move)
        return moves

    winners = play_to_end(Boards(count, *config.board), choose)
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
    """Play what is missing of the run's games into a file, many at a time.

    Raises:
        CallError: the networks are not there, or the file holds games of others.
    """
    settings = config.value
    models = [load_stage_network(run / stage, config) for stage in ("supervised", "reinforce")]
    head = {
        "size": config.size,
        "n_in_row": config.n_in_row,
        "seed": config.seed,
        "side_by_side": settings.side_by_side,
        "longest_start": settings.longest_start,
        "supervised_samples": load_checkpoint(run / "supervised" / "checkpoint.pt")["samples"],
        "reinforce_steps": load_checkpoint(run / "reinforce" / "checkpoint.pt")["steps"],
    }
    lines = list(read_games(str(path))) if path.exists() else []
    if lines and lines[0] != head:
        raise CallError(f"expected games of {head} in {path}; it begins with {lines[0]}")
    # Games that were not all written are played again.
    done = max(0, len(lines) - 1) // settings.side_by_side
    wanted = -(-settings.games // settings.side_by_side)
    write_text(path, _as_lines([head, *lines[1 : 1 + done * settings.side_by_side]]))
    if done >= wanted:
        return
    supervised = inference_network(models[0], config)
    improved = inference_network(models[1], config, supervised.dtype)
    progress = Progress("games", wanted * settings.side_by_side, done * settings.side_by_side)
    with open(path, "a", encoding="utf-8") as file:
        for number in range(done, wanted):
            file.write(_as_lines(play_games(config, supervised, improved, number)))
            file.flush()
            os.fsync(file.fileno())
            progress.show((number + 1) * settings.side_by_side)


def _as_lines(items: Sequence[dict[str, Any]]) -> str:
    return "".join(json.dumps(item, separators=(",", ":")) + "\n" for item in items)


def all_positions(games: Sequence[dict[str, Any]], most: int | None) -> Iterator[dict[str, Any]]:
    """The same games with every position from move U on to learn from; those that are held back stay as they are.

    Args:
        games: as `play_games` makes them.
        most: positions to learn from; the games after them are left out. None: of all games.
    """
    positions = 0
    for game in games:
        if game["seed"] % HELD_BACK_EVERY == 0:
            yield game
        elif most is None or positions < most:
            best = game["moves"][game["opening"] :]
            positions += len(best)
            yield {**game, "best": best}


def train_value_network(config: StagesConfig, run: Path, games: Path, folder: Path) -> Training:
    """Train a value network, or go on with it, to the end; Ctrl-C saves it.

    Raises:
        CallError, GamesError: games or networks are not as they should be.
    """
    settings = config.value
    policy = load_stage_network(run / "reinforce", config)
    as_supervised = SupervisedConfig(
        size=config.size,
        depths=[[0, read_sizes(policy.state_dict())[2]]],
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
    if training.checkpoint.exists():
        training.restore()
    else:
        training.model.load_state_dict(policy.state_dict())
    try:
        training.run()
    except KeyboardInterrupt:
        training.save()
        raise
    return training


def measured_training(training: Training) -> dict[str, Any]:
    """How many examples a training had, and squared errors of those latest learnt from and of those held back."""
    with open(training.run_folder / "metrics.csv", encoding="utf-8") as file:
        last = list(csv.DictReader(file))[-1]
    return {
        "positions": len(training.train),
        "samples": training.samples,
        "cpu_s": round(training.cpu_s),
        "mse_learnt_from": float(last["train_value_loss"]),
        "mse_held_back": round(training.evaluate()["value_mse"], 4),
    }


def run_value(config: StagesConfig, run: Path, compare: bool) -> dict[str, Any]:
    """The whole stage.

    Args:
        config: of all stages.
        run: the folder of all stages.
        compare: train two more networks, on all positions from move U on: of as many games as give as many positions (the
            paper's comparison), and of all games.

    Returns:
        For each network what `measured_training` returns. All are measured on the same positions, which none of them has learnt from; for
        these there are also the errors of the supervised value head, of the network as it began, and of saying the mean.
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
            write_text(other / "games.jsonl", _as_lines([{"size": config.size}, *all_positions(games, limit)]))
            trainings[name] = train_value_network(config, run, other / "games.jsonl", other)
    *_, judge = trainings.values()  # has learnt from what each of the others has, so that what it holds back they do, too
    for training in trainings.values():
        training.held_back = judge.held_back
    result: dict[str, Any] = {"held_back_positions": min(EVALUATED, len(judge.held_back))}
    result |= {name: measured_training(training) for name, training in trainings.items()}
    for stage in ("supervised", "reinforce"):
        judge.model.load_state_dict(load_stage_network(run / stage, config).state_dict())
        result[f"mse_of_{stage}"] = round(judge.evaluate()["value_mse"], 4)
    result["mse_of_the_mean"] = round(float(np.var(judge.held_back.value)), 4)
    write_stage_result(folder, result)
    return result
