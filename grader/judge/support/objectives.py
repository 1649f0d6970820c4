"""The losses that a training step may be minimising: the handout's loss, or one with a typical slip (handout 5.3).

A loss is the sum of a value error, a policy error and an L2 term. A slip is a fault in exactly one of them, so the sum shows
which slip it is. All terms are computed from a network's outputs for a batch and from its weights; values are for the side
to move.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

L2_CONST = 1e-4
TO_LEARN = 0.15  # the least share of the value's error at the start that learning must be able to remove


class Outputs(NamedTuple):
    """The outputs of both heads for a batch: log_probs [N, A], values [N]."""

    log_probs: np.ndarray
    values: np.ndarray


class Targets(NamedTuple):
    """The targets of a batch: pi [N, A], z [N]."""

    pi: np.ndarray
    z: np.ndarray


# ------------------------------------------------------------------------------------------------ errors of the heads


def squared_error(values: np.ndarray, z: np.ndarray) -> float:
    return float(np.mean((values - z) ** 2))


def cross_entropy(log_probs: np.ndarray, pi: np.ndarray) -> float:
    return float(-np.mean(np.sum(pi * log_probs, axis=1)))


def twice_softmaxed(log_probs: np.ndarray) -> np.ndarray:
    probs = np.exp(log_probs)
    return probs - np.log(np.sum(np.exp(probs), axis=1, keepdims=True))


def of_the_best_move(log_probs: np.ndarray, pi: np.ndarray) -> float:
    return float(-np.mean(np.take_along_axis(log_probs, pi.argmax(axis=1)[:, None], axis=1)))


def softmax_of(rows: np.ndarray) -> np.ndarray:
    """Return the softmax of each row [N, A]."""
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def no_error(outputs: np.ndarray, targets: np.ndarray) -> float:
    """Return the error of a head that learns nothing."""
    return 0.0


def share_left(floor: float, first: float, last: float) -> float:
    """Return the share of the avoidable loss that remains; infinity if a loss is not finite."""
    return (last - floor) / max(first - floor, 1e-9) if np.isfinite([first, last]).all() else float("inf")


@dataclass(frozen=True)
class Objective:
    """A value error and a policy error whose sum is minimised.

    Attributes:
        slip: what is wrong with it, as the rest of a sentence "It looks as if ..."; "" for the handout's objective.
    """

    slip: str
    value_error: Callable[[np.ndarray, np.ndarray], float] = squared_error
    policy_error: Callable[[np.ndarray, np.ndarray], float] = cross_entropy

    def loss(self, outputs: Outputs, targets: Targets) -> float:
        """Return the loss without the L2 term; infinity if it is not finite."""
        loss = self.value_error(outputs.values, targets.z) + self.policy_error(outputs.log_probs, targets.pi)
        return loss if np.isfinite(loss) else float("inf")

    def floor(self, targets: Targets) -> float:
        """Return roughly the smallest loss that any network could reach: the least loss among likely ideal outputs."""
        return self._value_floor(targets) + self._policy_floor(targets)

    def _value_floor(self, targets: Targets) -> float:
        ideal = [targets.z, -targets.z, np.full_like(targets.z, np.mean(targets.z))]
        return min(self.value_error(values, targets.z) for values in ideal)

    def _policy_floor(self, targets: Targets) -> float:
        points = targets.pi.shape[1]
        best_moves = (np.eye(points)[best(targets.pi, axis=1)] for best in (np.argmax, np.argmin))
        ideal = [targets.pi, softmax_of(targets.pi), *best_moves]
        return min(self.policy_error(np.log(np.maximum(probs, 1e-4)), targets.pi) for probs in ideal)

    def share_left(self, start: Outputs, end: Outputs, targets: Targets) -> float:
        """Return the share of the avoidable loss that remains; infinity if a loss is not finite."""
        return share_left(self.floor(targets), self.loss(start, targets), self.loss(end, targets))

    @property
    def is_of_one_head(self) -> bool:
        """Whether only one head learns."""
        return no_error in (self.value_error, self.policy_error)

    def share_left_of_either_head(self, start: Outputs, end: Outputs, targets: Targets) -> float:
        """Return `share_left` of the head that has the larger share left; it is small if both heads learn their targets.

        It is infinite if the values were nearly ideal at the start: then a head that only drifts looks as if it learnt.
        """
        shares = []
        if self.value_error is not no_error:
            value, floor = [self.value_error(each.values, targets.z) for each in (start, end)], self._value_floor(targets)
            shares.append(share_left(floor, *value) if value[0] - floor > TO_LEARN * value[0] else float("inf"))
        if self.policy_error is not no_error:
            policy = [self.policy_error(each.log_probs, targets.pi) for each in (start, end)]
            shares.append(share_left(self._policy_floor(targets), *policy))
        return max(shares)


def learnt_objective(trainings: Sequence[tuple[Outputs, Outputs]], targets: Targets, enough: float) -> Objective | None:
    """Return the objective that nearly all trainings, from several beginnings, have learnt: less than `enough` of it is left.

    A head without a target drifts, and in a single training it may drift to what some objective asks for; so an objective
    counts only if it fits as often as any other, but for one training in five. A network that learns with both heads learns
    with each of them, so an objective of one head counts only if no other fits.

    Args:
        trainings: the outputs before and after each.
    """
    fitting = {}
    for each in OBJECTIVES:
        left = [each.share_left_of_either_head(start, end, targets) for start, end in trainings]
        fitting[each.slip] = sorted(share for share in left if share < enough)
    most = max(map(len, fitting.values()))
    if most == 0:
        return None
    likely = [each for each in OBJECTIVES if len(fitting[each.slip]) >= max(1, most - len(trainings) // 5)]
    return min(likely, key=lambda each: (each.is_of_one_head, fitting[each.slip][0]))


HANDOUT = Objective("")
AVERAGED_OVER_MOVES = Objective(
    "the cross entropy is averaged over the moves too",
    policy_error=lambda log_p, pi: cross_entropy(log_p, pi) / pi.shape[1],
)
SUMMED_OVER_BATCH = Objective(
    "the cross entropy is summed over the batch instead of averaged",
    policy_error=lambda log_p, pi: cross_entropy(log_p, pi) * len(pi),
)
OBJECTIVES = (
    HANDOUT,
    Objective(
        "the values [N, 1] are compared with the winners [N] by broadcasting to [N, N]",
        value_error=lambda v, z: squared_error(v[:, None], z[None, :]),
    ),
    Objective("the value learns the negated result, -z instead of z", value_error=lambda v, z: squared_error(v, -z)),
    Objective("the value's error is missing", value_error=no_error),
    Objective("the value's error is not squared", value_error=lambda v, z: float(np.mean(np.abs(v - z)))),
    Objective(
        "the value's error is summed over the batch instead of averaged",
        value_error=lambda v, z: float(np.sum((v - z) ** 2)),
    ),
    Objective("the value's error is halved", value_error=lambda v, z: squared_error(v, z) / 2),
    Objective("the policy's cross entropy is missing", policy_error=no_error),
    Objective("the policy learns the argmax of pi instead of pi", policy_error=of_the_best_move),
    Objective(
        "the policy learns the softmax of pi instead of pi",
        policy_error=lambda log_p, pi: cross_entropy(log_p, softmax_of(pi)),
    ),
    Objective(
        "softmax is applied twice: the network already returns log probabilities",
        policy_error=lambda log_p, pi: cross_entropy(twice_softmaxed(log_p), pi),
    ),
    Objective(
        "probabilities are used where log probabilities belong",
        policy_error=lambda log_p, pi: cross_entropy(np.exp(log_p), pi),
    ),
    AVERAGED_OVER_MOVES,
    SUMMED_OVER_BATCH,
    Objective("the cross entropy has the wrong sign", policy_error=lambda log_p, pi: -cross_entropy(log_p, pi)),
    Objective(
        "both errors are summed over the batch instead of averaged",
        value_error=lambda v, z: float(np.sum((v - z) ** 2)),
        policy_error=lambda log_p, pi: cross_entropy(log_p, pi) * len(pi),
    ),
)


# --------------------------------------------------------------------------------------------------------- the L2 term

BIASES = "the biases are part of the L2 term"
NOT_SQUARED = "the norm in the L2 term is not squared"
DOUBLED = "the L2 term is twice as large as it should be: its factor is 1e-4 / 2"
FACTORLESS = "the L2 term lacks its factor 1e-4 / 2"
WITHOUT_DENSE = "the L2 term leaves out the weights of the dense layers"
WITHOUT_CONVOLUTIONS = "the L2 term leaves out the weights of the convolutions"
STATISTICS = "the L2 term includes batch norm's statistics, as a sum over state_dict() does, whose entries have no gradient"


def trained_parameters(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the entries of a state_dict that an optimiser updates: all but the statistics of batch norm."""
    return {key: w for key, w in weights.items() if "running_" not in key and "num_batches" not in key}


def l2_terms(weights: Mapping[str, np.ndarray]) -> dict[str, list[float]]:
    """Return slip -> the values that the L2 term may have with this slip; the key "" has the correct values.

    A term with or without the scales of batch norm is correct, and so is no term at all if the optimiser decays the weights.

    Args:
        weights: the entries of a state_dict.
    """
    trained = trained_parameters(weights)
    matrices = [key for key, w in trained.items() if w.ndim > 1]
    not_biases = [key for key in trained if not key.endswith("bias")]
    squares = {key: float(np.sum(w.astype(float) ** 2)) for key, w in weights.items()}
    half = L2_CONST / 2
    without_scales = [key for key in trained if key in matrices or key.endswith("bias")]
    of_layers = [key for key in trained if f"{key.rpartition('.')[0]}.weight" in matrices]
    statistics = [key for key in weights if key not in trained]
    averages = [key for key in statistics if "running_" in key]
    right = [sum(squares[key] for key in keys) for keys in (not_biases, matrices)]
    of_convolutions = sum(squares[key] for key in matrices if weights[key].ndim == 4)
    of_sets = [[squares[key] for key in keys] for keys in (not_biases, matrices, list(trained))]
    norms = [norm for s in of_sets for norm in (float(np.sqrt(np.sum(s))), float(np.sum(np.sqrt(s))))]
    return {
        "": [0.0, *(half * square for square in right)],
        BIASES: [half * sum(squares[key] for key in keys) for keys in (trained, without_scales, of_layers)],
        DOUBLED: [2 * half * square for square in right],
        WITHOUT_DENSE: [half * (square - right[1] + of_convolutions) for square in right],
        WITHOUT_CONVOLUTIONS: [half * (square - of_convolutions) for square in right],
        STATISTICS: [
            half * sum(squares[key] for key in [*keys, *others])
            for keys in (not_biases, matrices, list(trained))
            for others in (statistics, averages)
        ],
        FACTORLESS: [factor * square for square in right for factor in (0.5, 1.0)],
        NOT_SQUARED: [factor * norm for norm in norms for factor in (half, 2 * half)],
    }


# ------------------------------------------------------------------------------------------------------- recognising one

LOSS_TOLERANCE = 1e-4  # relative; absolute for losses below 1


def tells_objectives_apart(outputs: Outputs, targets: Targets, weights: Mapping[str, np.ndarray]) -> bool:
    """Return whether no slip in the errors gives nearly the handout's loss, as it would if the value head were dead.

    Args:
        weights: the entries of a state_dict; the L2 term may have any of its correct values.
    """
    terms = l2_terms(weights)[""]
    right = HANDOUT.loss(outputs, targets)
    near = 1.5 * LOSS_TOLERANCE * max(1.0, right + max(terms))
    for objective in OBJECTIVES[1:]:
        apart = objective.loss(outputs, targets) - right
        if any(abs(apart + term - other) < near for term in terms for other in terms):
            return False
    return True


@dataclass(frozen=True)
class LossDiagnosis:
    """The formula behind a loss: the errors of the heads, and the slip in the formula ("" if there is none)."""

    objective: Objective
    slip: str


DIVERGENCE = "the policy's error is the Kullback-Leibler divergence from pi: the entropy of pi is missing"
"""A slip in the loss that is returned, not in what is learnt, since the gradient is that of the cross entropy."""

DIVERGENCES = (
    LossDiagnosis(HANDOUT, DIVERGENCE),
    LossDiagnosis(
        AVERAGED_OVER_MOVES,
        "the policy's error is the Kullback-Leibler divergence from pi, and it is averaged over the moves too, as by the "
        "default reduction of kl_div",
    ),
    LossDiagnosis(
        SUMMED_OVER_BATCH,
        "the policy's error is the Kullback-Leibler divergence from pi, and it is summed over the batch instead of averaged",
    ),
)
"""Losses that lack the entropy of pi; the objectives are what they learn."""


@dataclass(frozen=True)
class PossibleOutputs:
    """What the network may have computed in a step: in train mode, as it should, or in eval mode."""

    train_mode: list[Outputs]
    eval_mode: list[Outputs]


def read_loss(
    loss: float,
    outputs: PossibleOutputs,
    targets: Targets,
    weights: Mapping[str, np.ndarray],
    tolerance: float = LOSS_TOLERANCE,
) -> LossDiagnosis | None:
    """Return the formula that gives this loss, or None.

    If the handout's formula fits, it is that one. Otherwise it is the nearest that fits: a formula with one slip, or the
    handout's with outputs in eval mode or a subtracted L2 term. Other checks report these two; since they may fit by chance,
    they do not come before a slip that fits better.

    Args:
        loss: the loss that train_step returned.
        weights: the entries of the state_dict when the loss was computed.
        tolerance: the largest relative error; absolute for values below 1.
    """
    terms = l2_terms(weights)
    every = [*outputs.train_mode, *outputs.eval_mode]

    def distance(objective: Objective, among: list[Outputs], added: list[float]) -> float:
        sums = [objective.loss(each, targets) + term for each in among for term in added]
        return min(abs(loss - value) / max(1.0, abs(value)) for value in sums)

    handout = LossDiagnosis(HANDOUT, "")
    if distance(HANDOUT, outputs.train_mode, terms[""]) <= tolerance:
        return handout
    either_sign = [*terms[""], *(-term for term in terms[""])]
    found = [(distance(HANDOUT, every, either_sign), handout)]
    found += [
        (distance(objective, every, either_sign), LossDiagnosis(objective, objective.slip)) for objective in OBJECTIVES[1:]
    ]
    found += [(distance(HANDOUT, every, terms[slip]), LossDiagnosis(HANDOUT, slip)) for slip in terms if slip]
    ideal = np.log(np.where(targets.pi > 0, targets.pi, 1.0))
    for divergence in DIVERGENCES:
        entropy = divergence.objective.policy_error(ideal, targets.pi)
        found.append((distance(divergence.objective, every, [term - entropy for term in terms[""]]), divergence))
    nearest, reading = min(found, key=lambda pair: pair[0])
    return reading if nearest <= tolerance else None
