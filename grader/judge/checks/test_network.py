"""Part 2, the policy-value network: layer names, loading, outputs and legal moves (handout 5.2).

Most boards are not square, so that swapped width and height or a missing permute show at once. Only policy_value_fn and
policy_value_fn_random, which are handed out, are checked on square boards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from random import Random
from typing import Any

import numpy as np
import pytest

from common.weights import expected_layout
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.board_position import BoardPosition, board_at, drawn_at
from grader.judge.support.drawn_positions import random_position, random_states
from grader.judge.support.drawn_weights import random_weights
from grader.judge.support.first_difference import LAYERS, first_difference
from grader.judge.support.network_cases import (
    OUTPUT_TOLERANCE,
    OUTPUTS,
    SYMMETRY_SIDE,
    VALUE_FIRST,
    FittedNetwork,
    LayersCase,
    OutputsCase,
    SymmetryCase,
    fitted_network,
    value_comes_first,
)
from grader.judge.support.oracle import Answers, Heads, Oracle
from grader.judge.support.ruling import Ruling

SHAPES = ((3, 3, 1), (5, 4, 2), (11, 11, 19))  # width, height, residual blocks
# If one of the eight symmetries is undone wrongly, the check misses it in (7/8)^96 = 3 of 10^6 runs. A wrong order, which
# affects two symmetries, is missed in (6/8)^96 = 10^-12 of the runs.
SYMMETRY_DRAWS = 96
NEW_NETWORKS = 8  # all of them draw the same symmetry in 6 of 10^8 runs
# Smaller log probabilities count as this one: a constant that keeps the logarithm of a softmax finite changes them.
LEAST_LOG = float(np.log(1e-3))
NO_EFFECT = 1e-6  # outputs that differ by less are the same
MOST_OUTPUT = 1e6  # larger outputs, such as infinity, count as this one
MovePrior = tuple[int, float]  # a move and its prior


@pytest.mark.points("network.layers")
def test_layers(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> None:
    """Check the keys and shapes of the state_dict, and that each entry affects the outputs.

    Accepts:
        Padding in the convolution, in a layer or by F.pad (reference, network-padding-layer, network-as-handed-out)
        Blocks made of a Sequential or a ModuleDict (reference, network-double-precision-outputs)
        Blocks of a custom class (network-mixed-precision)
        The tower as a ModuleList or a Sequential (reference, network-mixed-precision)
        More constructor arguments, with defaults, and more attributes (network-mixed-precision, network-in-its-own-classes)
    """
    ruling.expected = "The keys and shapes in the handout's table, for 3x3 with 1 block, 5x4 with 2, 11x11 with 19."
    for width, height, block in SHAPES:
        seen = worker.call("model_layout", width=width, height=height, block=block)
        expected = {key: list(shape) for key, shape in expected_layout(width, height, block).items()}
        where = f"on {width}x{height} (width x height) with {block} block{'s' if block > 1 else ''}"
        missing, extra = sorted(set(expected) - set(seen)), sorted(set(seen) - set(expected))
        if missing or extra:
            names = [f"missing {', '.join(missing[:4])}"] * bool(missing) + [f"unknown {', '.join(extra[:4])}"] * bool(extra)
            raise StudentFault(f"The layer names differ {where}: {'; '.join(names)}.")
        for key, shape in expected.items():
            ruling.expect(seen[key] == shape, f"{key} has shape {seen[key]} {where}; expected {shape}.")
    _expect_every_layer_counts(worker, rng, oracle)
    ruling.seen = "All keys and shapes are as in the table, and the outputs depend on each of them."


def _expect_every_layer_counts(worker: Worker, rng: Random, oracle: Oracle) -> None:
    """Raise StudentFault unless each entry affects the outputs, since unused entries with the expected names are no network.

    The weights are loaded through the model's state_dict, since another check loads files. In an oracle's cases each entry
    affects the outputs of a correct network. An incorrect network, which network.outputs reports, gets several cases.
    """
    without_effect = {key for key in expected_layout(3, 3, 1) if not key.endswith("num_batches_tracked")}
    for _ in range(4):
        case, _ = oracle.ask("layers", LayersCase, rng)
        states, changed = case.states, case.changed
        worker.call("net_create", width=3, height=3, block=1, weights=case.weights, by_file=False)
        try:
            before = _steady_heads(worker, states)
        except StudentFault as fault:
            raise StudentFault(f"{fault} {first_difference(worker, states, (3, 3, 1), None)}".rstrip()) from fault
        after = worker.call("net_forward_changed", changes=changed, states=states)
        without_effect &= {
            key
            for key in changed
            if key not in after or np.abs(_both_heads(after[key], len(states)) - before).max() <= NO_EFFECT
        }
        if not without_effect:
            return
    told = f"These entries of the state_dict have no effect on the outputs of forward: {', '.join(sorted(without_effect))}."
    if without_effect.issuperset(key for key in case.changed if "running_" in key):
        told += " In eval mode, batch norm should use its running statistics, not those of the batch."
    raise StudentFault(told)


def _steady_heads(worker: Worker, states: np.ndarray) -> np.ndarray:
    """Return both heads of forward, one row per state; raise StudentFault if they change from call to call.

    If they did, a change of the weights would seem to have an effect.
    """
    first, again = (_both_heads(worker.call("net_forward", states=states), len(states)) for _ in range(2))
    if np.abs(again - first).max() > NO_EFFECT:
        raise StudentFault("forward returns different outputs when it is called again with the same weights and states.")
    return again


def _both_heads(heads: Heads, count: int) -> np.ndarray:
    """Return both heads as one array, one row per state; network.outputs reports another shape or order of the heads."""
    if any(head.size == 0 or head.size % count for head in heads):
        raise StudentFault(f"forward returns shapes {heads[0].shape} and {heads[1].shape} for {count} states of 3x3.")
    both = np.hstack([head.reshape(count, -1) for head in heads]).astype(float)
    if np.isnan(both).any():  # which differs from everything, itself included
        raise StudentFault("forward returns NaN.")
    return both.clip(-MOST_OUTPUT, MOST_OUTPUT)  # so that infinity does not differ from itself


@pytest.mark.points("network.load")
def test_load(worker: Worker, ruling: Ruling, rng: Random) -> None:
    """Check that the weights in init_model's file are loaded and used.

    Accepts:
        torch.load with any map_location, weights_only or not (reference, network-as-handed-out, network-mixed-precision)
        Missing num_batches_tracked filled in (reference, network-double-precision-outputs)
        Lines printed during loading (network-as-handed-out)
    """
    ruling.expected = "PolicyValueNet(width, height, block, init_model=FILE) has all of the file's weights."
    weights = random_weights(3, 3, 1, rng.randrange(2**31))
    worker.call("net_create", width=3, height=3, block=1, weights=weights)
    loaded = worker.call("net_weights")
    for key, value in weights.items():
        ruling.expect(key in loaded, f"After loading, {key} is missing from the model's state_dict.")
        same = loaded[key].shape == value.shape and np.allclose(loaded[key], value, atol=1e-6)
        ruling.expect(same, f"After loading, {key} differs from the file.")
    # Weights may be loaded but not used, so other files must give other outputs.
    states, seen = random_states(rng, 3, 3, 8), []
    for _ in range(3):
        worker.call("net_create", width=3, height=3, block=1, weights=random_weights(3, 3, 1, rng.randrange(2**31)))
        seen.append(_steady_heads(worker, states))
    changed = np.abs(np.diff(seen, axis=0)).max() > NO_EFFECT
    ruling.expect(changed, "Whatever file is loaded, the outputs of forward stay the same.")
    ruling.seen = f"All {len(weights)} entries were loaded unchanged."


@pytest.mark.points("network.outputs")
def test_outputs(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> None:
    """Check both heads of forward and of policy_value on boards that are not square, with batch norm in eval mode.

    Accepts:
        policy_value asserts or refuses all handles but the two for testing (network-as-handed-out, training-losses-apart)
        Log softmax as a function or a layer, or by its formula (reference, network-mixed-precision, training-weight-decay)
        The logarithm of a softmax plus a small constant, which changes tiny probabilities (network-in-its-own-classes)
        Outputs in double precision, states evaluated one by one (network-double-precision-outputs)
        Eval mode set at each call and left on, or the earlier mode restored (network-as-handed-out, training-weight-decay)
        Mixed precision that is off without a GPU (network-mixed-precision)
        The network on the GPU where there is one (network-as-handed-out)
    """
    ruling.expected = "The same weights give the same log probabilities, probabilities and values, to within 1e-4."
    worst = 0.0
    for family, draw in OUTPUTS.items():
        case, answers = oracle.ask(family, draw, rng)
        network: dict[str, Any] = {"width": case.width, "height": case.height, "block": case.block, "by_file": False}
        worker.call("net_create", **network, weights=case.weights)
        try:
            worst = max(worst, _expect_same_outputs(worker, case, answers))
        except StudentFault as fault:
            if str(fault) == VALUE_FIRST:
                raise
            mode = _train_mode(worker, case.states)
            worker.call("net_create", **network, weights=case.weights)  # in train mode batch norm's statistics have changed
            size = case.width, case.height, case.block
            layer = first_difference(worker, case.states, size, answers.get(LAYERS))
            raise StudentFault(" ".join(filter(None, (str(fault), mode, layer)))) from fault
    ruling.seen = f"Largest difference {worst:.1e}."


def _train_mode(worker: Worker, states: np.ndarray) -> str:
    """Return a sentence if the value of a state depends on the other states, as batch norm makes it in train mode, or ""."""
    try:
        (_, together), (_, alone) = (worker.call("net_policy_value", states=part) for part in (states, states[:1]))
    except StudentFault:
        return ""
    first = np.atleast_1d(together)[:1]
    if first.shape != alone.shape or np.allclose(first, alone, atol=OUTPUT_TOLERANCE):
        return ""
    return "The value of a state depends on the other states of the batch, as if batch norm were in train mode."


def _expect_same_outputs(worker: Worker, case: OutputsCase, answers: Answers) -> float:
    """Return the largest difference; raise StudentFault if it is too large."""
    states, log_probs, value = case.states, answers["log_probs"], answers["value"]
    where = f"on {case.width}x{case.height} (width x height)"
    close = partial(_expect_close, positions=case.positions)
    seen_policy, seen_value = worker.call("net_forward", states=states)
    if value_comes_first((seen_policy, seen_value), case.width * case.height):
        raise StudentFault(VALUE_FIRST)
    worst = max(
        close(seen_policy, log_probs, f"forward's policy {where}", least=LEAST_LOG),
        close(seen_value, value, f"forward's value {where}"),
    )
    seen_policy, seen_value = worker.call("net_policy_value", states=states)
    worst = max(
        worst,
        close(seen_policy, np.exp(log_probs), f"policy_value's policy {where}"),
        close(seen_value, value, f"policy_value's value {where}"),
    )
    # In eval mode the output for a state must not depend on the other states.
    alone, _ = worker.call("net_policy_value", states=states[:1])
    return max(worst, close(alone, np.exp(log_probs[:1]), f"policy_value of a single state {where}"))


def _expect_close(
    seen: Any, expected: np.ndarray, what: str, positions: Sequence[BoardPosition], least: float = -np.inf
) -> float:
    """Return the largest difference; raise StudentFault if it is too large.

    Args:
        seen, expected: [N, W*H] of a policy, or [N, 1] of values.
        positions: of the N rows.
        least: smaller numbers count as this one.
    """
    seen = np.asarray(seen)
    if seen.shape != expected.shape:
        raise StudentFault(f"{what} has shape {list(seen.shape)}; expected {list(expected.shape)}.")
    compared, right = np.maximum(seen, least), np.maximum(expected, least)
    if not np.all(np.isfinite(compared)):
        raise StudentFault(f"{what} has values that are not finite.")
    differences = np.abs(compared - right)
    worst = float(differences.max())
    if worst > OUTPUT_TOLERANCE:
        row = int(differences.max(axis=1).argmax())
        boards = _drawn_outputs(positions[row], expected[row], seen[row])
        flat, reference = (np.sort(rows.reshape(len(rows), -1), axis=1) for rows in (compared, right))
        if np.abs(flat - reference).max() <= OUTPUT_TOLERANCE:
            raise StudentFault(f"{what} has the right numbers in the wrong order: check rows, columns and the permute.", boards)
        message = f"{what} differs from the reference by up to {worst:.2g} for the same weights.{_slip(seen, expected)}"
        raise StudentFault(message, boards)
    return worst


def _drawn_outputs(position: BoardPosition, expected: np.ndarray, seen: np.ndarray) -> list[dict[str, Any]]:
    """Return a position with the outputs for it: a value, or the probabilities or their logarithms by move."""
    if len(expected) == 1:
        return [position.pictured(f"Expected: the value {expected[0]:+.4f}. Seen: {seen[0]:+.4f}")]
    if (expected <= 0).all():
        expected, seen = np.exp(expected), np.exp(np.minimum(seen, 0))
    return position.compared("the probability of each move", dict(enumerate(expected)), dict(enumerate(seen)))


def _slip(seen: np.ndarray, expected: np.ndarray) -> str:
    """Return a sentence that names a typical slip, or "". The value has one column; the policy's outputs have more."""
    if seen.shape[1] == 1:
        return " Values must lie in [-1, 1]." if np.abs(seen).max() > 1 + OUTPUT_TOLERANCE else ""
    logarithms = bool((expected <= 0).all())
    probs = np.exp(seen) if logarithms else seen
    if len(seen) > 1 and np.allclose(probs.sum(axis=0), 1, atol=1e-3):
        return " It looks as if the softmax is taken over the batch instead of over the moves."
    if logarithms and np.allclose(np.exp(expected), seen, atol=OUTPUT_TOLERANCE):
        return " The outputs are probabilities, not their logarithms."
    if not logarithms and np.allclose(expected, np.exp(seen), atol=OUTPUT_TOLERANCE):
        return " The outputs are logarithms of probabilities."
    return ""


@pytest.mark.points("network.legal_moves")
def test_legal_moves(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> None:
    """Check the two handed-out functions, only on square boards, since the versions of earlier years fail on other boards.

    Accepts:
        Planes and probabilities reshaped by width and height (network-as-handed-out, network-in-its-own-classes)
        Moves with priors as an iterator that can be read only once, or as a list (reference, training-losses-apart)
        Priors renormalised over the legal moves, or not (network-double-precision-outputs, reference)
        The value as a (1, 1) array or an array of one (reference, training-weight-decay-without-scales)
        The value as a float (network-double-precision-outputs)
        Symmetries drawn by numpy or random (reference, network-double-precision-outputs)
        Symmetries drawn and applied by torch (training-weight-decay-without-scales)
        A reflection after the rotation or before it (reference, training-losses-apart)
        Symmetries as tables of points (network-double-precision-outputs)
    """
    ruling.expected = (
        "Each legal move once, with the probability that the network gives it, and the value for the side to move."
    )
    side = {"width": 5, "height": 5, "block": 1}
    network = fitted_network(worker, random_weights(5, 5, 1, rng.randrange(2**31)), **side).evaluating(worker)
    ruling.message = network.remark
    for plies in (0, 5, 11):
        position = random_position(rng, 5, 5, 4, plies)
        # Compare with the outputs of the student's own network; network.outputs decides whether those are correct.
        (probs,), (value,) = _outputs_one_by_one(worker, [np.asarray(board_at(position).current_state(), dtype=np.float32)], 25)
        pairs, seen_value = worker.call("net_policy_value_fn", position=position.to_json())
        moves, legal = {move for move, _ in pairs}, set(board_at(position).availables)
        if len(pairs) != len(moves) or not _legal(pairs, position):
            caption = "Expected: also each ringed move, no crossed one, and none twice"
            raise StudentFault(
                f"policy_value_fn after moves {list(position.moves)} should give exactly the legal moves.",
                [position.pictured(caption, legal - moves, moves - legal)],
            )
        if not _same_priors(pairs, probs):
            right = {move: probs[move] for move in legal}
            raise StudentFault(
                "For the legal moves, policy_value_fn and policy_value return different probabilities.",
                position.compared("the probability of each legal move", right, dict(pairs)),
            )
        with drawn_at(position, f"Expected: the value {value:+.4f}. Seen: {seen_value:+.4f}"):
            ruling.expect(
                abs(seen_value - value) <= OUTPUT_TOLERANCE,
                f"policy_value_fn returns the value {seen_value:.4f}; policy_value returns {value:.4f}.",
            )
    _expect_symmetries(worker, ruling, rng, oracle)
    ruling.seen = f"Three positions with all legal moves, and one {SYMMETRY_DRAWS} times under random symmetries."


def _outputs_one_by_one(worker: Worker, states: Iterable[np.ndarray], points: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the probabilities [N, points] and values [N] of policy_value, called separately for each state.

    Another check, network.outputs, decides whether the states of a batch affect each other.
    """
    probs, values = [], []
    for state in states:
        policy, value = worker.call("net_policy_value", states=state[None])
        if policy.size != points or value.size != 1:
            raise StudentFault(f"policy_value returns shapes {policy.shape} and {value.shape} for one state.")
        probs.append(policy.reshape(-1).astype(float))
        values.append(float(value.reshape(-1)[0]))
    return np.array(probs), np.array(values)


def _legal(pairs: list[MovePrior], position: BoardPosition) -> bool:
    return {move for move, _ in pairs} == set(board_at(position).availables)


def _same_priors(pairs: list[MovePrior], probs: np.ndarray) -> bool:
    """Return whether the pairs have the probabilities of their moves, renormalised over the legal moves or not."""
    moves, priors = zip(*pairs, strict=True)
    expected = probs[list(moves)]
    return any(np.allclose(priors, expected / scale, rtol=0, atol=OUTPUT_TOLERANCE) for scale in (1.0, expected.sum() or 1.0))


def _expect_symmetries(worker: Worker, ruling: Ruling, rng: Random, oracle: Oracle) -> None:
    """Raise StudentFault unless policy_value_fn_random evaluates a turned board and turns the moves back."""
    case, _ = oracle.ask("symmetries", SymmetryCase, rng)
    side = {"width": SYMMETRY_SIDE, "height": SYMMETRY_SIDE, "block": 1}
    network = fitted_network(worker, case.weights, **side).evaluating(worker)
    probs, values = _outputs_one_by_one(worker, case.turned, SYMMETRY_SIDE**2)
    accepted = case.undo(probs)
    seen = worker.call("net_random_symmetries", position=case.position.to_json(), draws=SYMMETRY_DRAWS)
    for pairs, value in seen:
        if not (_legal(pairs, case.position) and any(_same_priors(pairs, each) for each in accepted)):
            right = {move: float(accepted[0][move]) for move in board_at(case.position).availables}
            raise StudentFault(
                "policy_value_fn_random returns probabilities that the network does not give for any rotated or mirrored "
                "board: the symmetry is not undone on the moves. The moves' rows count from the bottom, the states' from the "
                "top, and the last transformation must be undone first.",
                case.position.compared(
                    "the probability of each move; other symmetries may differ a little", right, dict(pairs)
                ),
            )
        ruling.expect(
            np.abs(values - value).min() <= OUTPUT_TOLERANCE,
            f"policy_value_fn_random returns the value {value:.4f}, which the network does not give for any rotated or "
            "mirrored board: a symmetry does not change who is better.",
        )
    first = dict(seen[0][0])
    if np.ptp(accepted[:, list(first)], axis=0).max() > 10 * OUTPUT_TOLERANCE:
        ruling.expect(
            any(_differ(first, dict(pairs)) for pairs, _ in seen) or _varies_anew(worker, case, network, first),
            f"policy_value_fn_random evaluated the board {SYMMETRY_DRAWS} times in the same orientation; each call should draw "
            "one of the symmetries at random.",
        )


def _varies_anew(worker: Worker, case: SymmetryCase, network: FittedNetwork, first: dict[int, float]) -> bool:
    """Return whether new networks draw other symmetries, since a network may remember the positions that it has evaluated."""
    for _ in range(NEW_NETWORKS):
        worker.close()
        network.create(worker)
        ((pairs, _),) = worker.call("net_random_symmetries", position=case.position.to_json(), draws=1)
        if _differ(first, dict(pairs)):
            return True
    return False


def _differ(first: dict[int, float], second: dict[int, float]) -> bool:
    """Return whether the probabilities of the same moves come from boards in different orientations."""
    return max(abs(first[move] - second.get(move, 0.0)) for move in first) > OUTPUT_TOLERANCE
