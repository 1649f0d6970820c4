"""Part 2, the policy-value network: layer names, loading, outputs, legal moves (handout 5.2).

Boards are not square on purpose: a swapped width and height or a missing permute shows at once.
"""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from grader.checks.conftest import Ruling
from grader.checks.positions import random_position
from grader.checks.trees import board_at
from grader.errors import StudentFault
from grader.trusted_network import expected_layout, forward, random_weights
from grader.worker_client import Worker

SHAPES = ((3, 3, 1), (5, 4, 2), (11, 11, 19))  # width, height, residual blocks
OUTPUT_TOLERANCE = 1e-4


def random_states(rng: Random, width: int, height: int, count: int) -> np.ndarray:
    """Feature planes [count, 9, height, width] float32 of real positions."""
    positions = [random_position(rng, width, height, min(width, height), rng.randrange(8)) for _ in range(count)]
    return np.stack([np.asarray(board_at(position).current_state(), dtype=np.float32) for position in positions])


@pytest.mark.points("network.layers")
def test_layers(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "The keys and shapes of the handout's table, for 3x3 with 1 block, 5x4 with 2, 11x11 with 19."
    for width, height, block in SHAPES:
        seen = worker.call("model_layout", width=width, height=height, block=block)
        verdict.expect(isinstance(seen, dict), "The model has no state_dict.")
        expected = {key: list(shape) for key, shape in expected_layout(width, height, block).items()}
        where = f"on {width}x{height} (width x height) with {block} block{'s' if block > 1 else ''}"
        missing, extra = sorted(set(expected) - set(seen)), sorted(set(seen) - set(expected))
        if missing or extra:
            names = [f"missing {', '.join(missing[:4])}"] * bool(missing) + [f"unknown {', '.join(extra[:4])}"] * bool(extra)
            raise StudentFault(f"The layer names differ {where}: {'; '.join(names)}.")
        for key, shape in expected.items():
            verdict.expect(seen[key] == shape, f"{key} has shape {seen[key]} {where}; expected {shape}.")
    _expect_every_layer_counts(worker, rng)
    verdict.seen = "All keys and shapes are as in the table, and the outputs depend on each of them."


def _expect_every_layer_counts(worker: Worker, rng: Random) -> None:
    """StudentFault unless each entry acts on the outputs: a table of names alone is no network.

    Through the model's state_dict, since loading a file is another check's matter. A head can be dead (ReLU), hence the draws.
    """
    numbers = np.random.default_rng(rng.randrange(2**31))
    without_effect = {key for key in expected_layout(3, 3, 1) if not key.endswith("num_batches_tracked")}
    for _ in range(4):
        weights, states = random_weights(3, 3, 1, rng.randrange(2**31)), random_states(rng, 3, 3, 8)
        before = _outputs(worker, weights, states)
        for key in sorted(without_effect):
            other = weights[key] + numbers.uniform(0.2, 0.6, weights[key].shape).astype(np.float32)
            if np.abs(_outputs(worker, {**weights, key: other}, states) - before).max() > 1e-6:
                without_effect.discard(key)
        if not without_effect:
            return
    raise StudentFault(
        f"These entries of the state_dict do not act on what forward gives: {', '.join(sorted(without_effect))}."
    )


def _outputs(worker: Worker, weights: dict[str, np.ndarray], states: np.ndarray) -> np.ndarray:
    worker.call("net_create", width=3, height=3, block=1, weights=weights, by_file=False)
    return _forward(worker, states)


def _forward(worker: Worker, states: np.ndarray) -> np.ndarray:
    """Both heads in one row a state of 3x3."""
    log_probs, value = worker.call("net_forward", states=states)
    if log_probs.shape != (len(states), 9) or value.size != len(states):
        raise StudentFault(f"forward gives shapes {log_probs.shape} and {value.shape} for {len(states)} states of 3x3.")
    return np.hstack([log_probs, value.reshape(-1, 1)]).astype(float)


@pytest.mark.points("network.load")
def test_load(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "PolicyValueNet(width, height, block, init_model=FILE) holds the file's weights, each of them."
    weights = random_weights(3, 3, 1, rng.randrange(2**31))
    worker.call("net_create", width=3, height=3, block=1, weights=weights)
    loaded = worker.call("net_weights")
    for key, value in weights.items():
        verdict.expect(key in loaded, f"After loading, {key} is missing from the model's state_dict.")
        same = loaded[key].shape == value.shape and np.allclose(loaded[key], value, atol=1e-6)
        verdict.expect(same, f"After loading, {key} is not what the file holds.")
    # Held is not used: with the file's weights the network must give other outputs than with another file's.
    states, seen = random_states(rng, 3, 3, 8), []
    for _ in range(3):
        worker.call("net_create", width=3, height=3, block=1, weights=random_weights(3, 3, 1, rng.randrange(2**31)))
        seen.append(_forward(worker, states))
    verdict.expect(np.abs(np.diff(seen, axis=0)).max() > 1e-6, "Whatever file is loaded, forward gives the same.")
    verdict.seen = f"{len(weights)} entries were loaded as they are."


@pytest.mark.points("network.outputs")
def test_outputs(worker: Worker, verdict: Ruling, rng: Random) -> None:
    """Both heads of forward and of policy_value, on boards that are not square, batch norm in eval mode."""
    verdict.expected = "For the same weights the same log probabilities, probabilities and values, to 1e-4."
    worst = 0.0
    for width, height, block in ((3, 3, 1), (5, 4, 2), (4, 6, 1)):
        weights = random_weights(width, height, block, rng.randrange(2**31))
        states = random_states(rng, width, height, 8)
        log_probs, value = forward(weights, states, width=width, height=height)
        worker.call("net_create", width=width, height=height, block=block, weights=weights)
        where = f"on {width}x{height} (width x height)"
        seen_policy, seen_value = worker.call("net_forward", states=states)
        worst = max(
            worst,
            _expect_close(seen_policy, log_probs, f"forward's log probabilities {where}"),
            _expect_close(seen_value, value, f"forward's value {where}"),
        )
        seen_policy, seen_value = worker.call("net_policy_value", states=states)
        worst = max(
            worst,
            _expect_close(seen_policy, np.exp(log_probs), f"policy_value's probabilities {where}"),
            _expect_close(seen_value, value, f"policy_value's value {where}"),
        )
        # One state alone: what the others are must not matter in eval mode.
        alone, _ = worker.call("net_policy_value", states=states[:1])
        worst = max(worst, _expect_close(alone, np.exp(log_probs[:1]), f"policy_value of a single state {where}"))
    verdict.seen = f"Largest difference {worst:.1e}."


def _expect_close(seen: Any, expected: np.ndarray, what: str) -> float:
    seen = np.asarray(seen)
    if seen.shape != expected.shape:
        raise StudentFault(f"{what} has shape {list(seen.shape)}; expected {list(expected.shape)}.")
    if not np.all(np.isfinite(seen)):
        raise StudentFault(f"{what} holds values that are not finite.")
    worst = float(np.abs(seen - expected).max())
    if worst > OUTPUT_TOLERANCE:
        flat, reference = (
            np.sort(seen.reshape(len(seen), -1), axis=1),
            np.sort(expected.reshape(len(expected), -1), axis=1),
        )
        if np.abs(flat - reference).max() <= OUTPUT_TOLERANCE:
            raise StudentFault(f"{what} are the right numbers in the wrong order: mind rows, columns and the permute.")
        raise StudentFault(
            f"{what} differs from the reference by up to {worst:.2g} for the same weights.{_slip(seen, expected)}"
        )
    return worst


def _slip(seen: np.ndarray, expected: np.ndarray) -> str:
    """A sentence that names a typical slip, or nothing; the policy's outputs alone have more than one column."""
    if seen.shape[1] == 1:
        return " Values beyond 1 or -1 are none." if np.abs(seen).max() > 1 + OUTPUT_TOLERANCE else ""
    logarithms = bool((expected <= 0).all())
    probs = np.exp(seen) if logarithms else seen
    if len(seen) > 1 and np.allclose(probs.sum(axis=0), 1, atol=1e-3):
        return " It looks as if probabilities were shared out over the batch in place of the moves."
    if logarithms and np.allclose(np.exp(expected), seen, atol=OUTPUT_TOLERANCE):
        return " They are probabilities, not their logarithms."
    if not logarithms and np.allclose(expected, np.exp(seen), atol=OUTPUT_TOLERANCE):
        return " They are logarithms of probabilities."
    return ""


@pytest.mark.points("network.legal_moves")
def test_legal_moves(worker: Worker, verdict: Ruling, rng: Random) -> None:
    verdict.expected = "Each legal move once with the network's probability of it, and the value for the side to move."
    weights = random_weights(5, 4, 1, rng.randrange(2**31))
    worker.call("net_create", width=5, height=4, block=1, weights=weights)
    for plies in (0, 5, 11):
        position = random_position(rng, 5, 4, 4, plies)
        board = board_at(position)
        state = np.asarray(board.current_state(), dtype=np.float32)[None]
        # Held against the network's own answer: whether that is right, network.outputs decides.
        probs, value = (np.asarray(head, dtype=float) for head in worker.call("net_policy_value", states=state))
        verdict.expect(
            probs.size == 20 and value.size == 1,
            f"policy_value gives shapes {list(probs.shape)} and {list(value.shape)} for one state of 5x4.",
        )
        pairs, seen_value = worker.call("net_policy_value_fn", position=position)
        seen = {int(move): float(prior) for move, prior in pairs}
        verdict.expect(
            len(pairs) == len(seen) and set(seen) == set(board.availables),
            f"policy_value_fn after moves {position['moves']} should give exactly the legal moves.",
        )
        verdict.expect(
            _same_priors(seen, probs.reshape(-1)), "policy_value_fn gives legal moves other probabilities than the network's."
        )
        verdict.expect(
            abs(seen_value - float(value.reshape(-1)[0])) <= OUTPUT_TOLERANCE,
            f"policy_value_fn's value is {seen_value:.4f}; the network says {float(value.reshape(-1)[0]):.4f}.",
        )
    for width, height in ((4, 4), (5, 4)):
        _expect_symmetries(worker, verdict, rng, width, height)
    verdict.seen = "Three positions, all legal moves, all probabilities; and two through random symmetries of the board."


def _same_priors(seen: dict[int, float], probs: np.ndarray) -> bool:
    """Whether these are the probabilities of these moves; normalised again over the legal ones or not."""
    legal = sum(float(probs[move]) for move in seen) or 1.0
    return any(
        all(abs(p - float(probs[move]) / scale) <= OUTPUT_TOLERANCE for move, p in seen.items()) for scale in (1.0, legal)
    )


def _expect_symmetries(worker: Worker, verdict: Ruling, rng: Random, width: int, height: int) -> None:
    """policy_value_fn_random must be what the network says of the turned board, its moves turned back."""
    worker.call(
        "net_create", width=width, height=height, block=1, weights=random_weights(width, height, 1, rng.randrange(2**31))
    )
    position = random_position(rng, width, height, 4, 5)
    board = board_at(position)
    state = np.asarray(board.current_state(), dtype=np.float32)
    turns = range(4) if width == height else (0, 2)
    # A symmetry as what it makes of a picture; moves count rows from the bottom, states from the top.
    symmetries = [lambda a, k=k, m=m: np.rot90(a, k, (-2, -1))[..., :: -1 if m else 1] for k in turns for m in (False, True)]
    # One at a time: whether the states of a batch mix is network.outputs' affair.
    turned = [np.ascontiguousarray(turn(state))[None] for turn in symmetries]
    answers = [np.asarray(worker.call("net_policy_value", states=one)[0], dtype=float) for one in turned]
    for answer in answers:
        verdict.expect(
            answer.shape == (1, width * height),
            f"policy_value gives shape {list(answer.shape)} for one state of {width}x{height}.",
        )
    points = np.arange(width * height).reshape(height, width)
    accepted = []
    for turn, answer in zip(symmetries, answers, strict=True):
        moved_to = turn(points[::-1])[::-1].reshape(-1)  # which move of the board lies at each move of the turned board
        back = np.empty(width * height)
        back[moved_to] = answer[0]
        accepted.append(back)
    for _ in range(8):
        pairs, _ = worker.call("net_policy_value_fn", position=position, turned=True)
        seen = {int(move): float(prior) for move, prior in pairs}
        verdict.expect(
            set(seen) == set(board.availables) and any(_same_priors(seen, probs) for probs in accepted),
            f"policy_value_fn_random on {width}x{height} (width x height) gives moves other probabilities than the network "
            "gives them on any turned or mirrored board: the symmetry is not undone on the moves.",
        )
