"""The unrolled loss and its gradient (handout 4)."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.muzero.checks.calls import close, expect_numbers, model_in, part_of, probed, shown
from labs.support.boards import Values
from labs.support.cases import Case, Cases

BATCHES = 10
PARTS = ("policy", "value", "reward")
FIX_FIRST = "The loss itself is wrong; fix loss.parts first."
HEADS = "It is halved for the prediction as well; halve it only on the way into the dynamics."
SLIPS = {
    "never": "It is not halved where latent states enter the dynamics.",
    "inputs and heads": HEADS,
    "outputs and heads": HEADS,
    "states": "It is halved for the reward and the prediction as well; halve it only on the way into the dynamics.",
    "cut off": "It is cut off where latent states enter the dynamics: something on the way is detached.",
    "shared out": "It is multiplied by 1/K where latent states enter the dynamics; that factor is 1/2.",
}
FACTOR = 1e-3  # of the largest entry: how far gradients in float32 may be off
OTHERWISE = 4  # batches that tell how the gradient of a wrong loss flows
OUTSIDE = 2e-4  # of its size: what rounding may add to a gradient that flows rightly, less than a sixth of what a slip does
HALVES = "The latent states themselves are halved on the way into the dynamics, not only their gradient."
OF_PREDICTIONS = {
    "policy halves": HALVES,
    "value halves": HALVES,
    "reward halves": HALVES,
    "policy samples": "The softmax is over the samples of the batch; it is over the actions of each sample.",
    "policy logits": "The logits are taken as they are; log p' is their log softmax.",
    "policy probs": "The probabilities p' are taken in place of their logarithms.",
    "policy twice": "The softmax is taken twice.",
    "value absolute": "The error is taken as it is; it must be squared.",
    "value turned": "Its targets are turned from step to step; they are by player already.",
    "value opposite": "Its targets have the wrong sign.",
    "value pairs": "Each sample is compared with the targets of all samples; look at the shapes.",
    "reward absolute": "The error is taken as it is; it must be squared.",
    "reward opposite": "Its targets have the wrong sign.",
    "reward later": "Each reward is compared with that of the next move.",
    "reward earlier": "Each reward is compared with that of the move before.",
    "reward pairs": "Each sample is compared with the targets of all samples; look at the shapes.",
}


def lost(worker: Worker, case: Case) -> Values:
    """Return the submission's loss of a case's batch."""
    return probed(worker, "Lost", ["parts", "gradient"], batch=part_of(case, "batch"), **model_in(case))


@pytest.mark.points("loss.parts")
def test_parts(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Batches with steps before and after the end.

    Accepts:
        The terms are added step by step, or the steps 1 to K are averaged at once (reference, gradient-by-hook)
        Each part is a tensor without dimensions, or a tensor with one entry (reference, one-entry-tensors)
    """
    ruling.expected = "Each part is its term at step 0 plus the mean of its terms at steps 1 to K."
    for _ in range(BATCHES):
        case = cases.draw("losing", rng)
        parts = expect_numbers(lost(worker, case), "parts", (4,), "The loss with its three parts")
        terms = case["terms"]
        for name, got, own in zip(PARTS, parts[1:], terms, strict=True):
            right = own[0] + own[1:].mean()
            if not close(got, np.array(right)):
                told = f"With K = {len(own) - 1}, the part {name} is {right:.4f}; got {got:.4f}."
                raise StudentFault(f"{told}{_slip(name, got, case)} {_terms(name, own)}")
        if not close(parts[0], np.array(parts[1:].sum())):
            raise StudentFault(f"The total is the sum of the parts, {parts[1:].sum():.4f}; got {parts[0]:.4f}.")
    ruling.seen = f"The same parts for {BATCHES} batches."


def _slip(name: str, got: np.ndarray, case: Case) -> str:
    """Return the slip that gives exactly this number for a part, in words; empty if there is none.

    The reward has no term at step 0, so no slip of that step explains it.
    """
    own = case["terms"][PARTS.index(name)]
    (samples, _, actions), steps, right = case["batch policies"].shape, len(own) - 1, own[0] + own[1:].mean()
    of_step_0 = {
        "Step 0 has the weight 1/K, too.": own.sum() / steps,
        "Step 0 is missing.": own[1:].mean(),
        "Only step 0 counts.": own[0],
    }
    slips = {
        "The steps 1 to K are added up without the weight 1/K.": own.sum(),
        "All steps have the same weight; step 0 has weight 1, the others 1/K.": own.mean(),
        **(of_step_0 if own[0] else {"This part is missing.": 0.0}),
        "Step K is missing.": own[0] + own[1:-1].sum() / steps,
        "The samples are added up, not averaged.": right * samples,
        "It is averaged over the actions, too.": right / actions,
        **{f"This is the part {part}.": each[0] + each[1:].mean() for part, each in zip(PARTS, case["terms"], strict=True)},
        **{OF_PREDICTIONS[slip]: number for slip, number in part_of(case, "slip").items() if slip.startswith(name)},
    }
    return next((f" {words}" for words, number in slips.items() if close(got, np.array(number))), "")


def _terms(name: str, own: np.ndarray) -> str:
    """Return the terms of a part, which the student can print and compare."""
    first = 1 if name == "reward" else 0
    return f"The mean terms of the steps {first} to {len(own) - 1} are {shown(own[first:])}."


@pytest.mark.points("loss.gradient")
def test_gradient(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """The gradient of every weight of drawn models, against that of our own loss.

    Accepts:
        The gradient is halved at each input of g (reference)
        It is halved at each output of g that enters g again, as in the paper's pseudocode, by a hook (gradient-by-hook)
    """
    ruling.expected = "The gradient is halved each time a latent state enters the dynamics, and flows through all K steps."
    for _ in range(BATCHES):
        case = cases.draw("losing", rng)
        gradients = part_of(case, "gradient")
        values = lost(worker, case)
        got = expect_numbers(values, "gradient", gradients["always"].shape, "The gradient")
        if any(_agree(got, gradients[way]) for way in ("always", "after the first")):
            continue
        own = case["terms"][:, 0] + case["terms"][:, 1:].mean(axis=1)
        if not close(values["parts"], np.array([own.sum(), *own])):
            _expect_flow(worker, rng, cases)
            break
        reason = _reason(got, gradients, model_in(case)["weights"])
        raise StudentFault(f"The gradient of the total loss is wrong, with K = {case['terms'].shape[1] - 1}. {reason}")
    ruling.seen = f"The same flow of the gradient in {BATCHES} batches."


def _expect_flow(worker: Worker, rng: Random, cases: Cases) -> None:
    """Judge a wrong loss, for which loss.parts has taken its points, by how its gradient flows alone.

    Whatever the weights and the targets of its terms are, the gradient must be a sum of those of the terms, rightly halved.
    """
    ways = {"always", "after the first"}
    for _ in range(OTHERWISE):
        case = cases.draw("losing otherwise", rng)
        got = expect_numbers(lost(worker, case), "gradient", case["gradient always"].shape, "The gradient")
        least = OUTSIDE * np.linalg.norm(got)
        for way, (outside_all, outside_step_0) in part_of(case, "outside").items():
            if not np.linalg.norm(outside_all @ got) <= least < np.linalg.norm(outside_step_0 @ got):
                ways.discard(way)
    if not ways:
        raise StudentFault(f"The gradient of the total loss is wrong. {FIX_FIRST}")


def _agree(got: np.ndarray, right: np.ndarray) -> bool:
    return bool(np.abs(got - right).max() <= FACTOR * np.abs(right).max())


def _reason(got: np.ndarray, gradients: dict[str, np.ndarray], weights: dict[str, np.ndarray]) -> str:
    slip = next((words for way, words in SLIPS.items() if _agree(got, gradients[way])), None)
    if slip:
        return slip
    sizes = [weights[name].size for name in sorted(weights)]
    pieces = np.split(np.arange(len(got)), np.cumsum(sizes)[:-1])
    right, names = gradients["always"], sorted(weights)
    wrong = [name for name, place in zip(names, pieces, strict=True) if not _agree(got[place], right[place])]
    none = [name for name, place in zip(names, pieces, strict=True) if not got[place].any() and right[place].any()]
    if none:
        return f"No gradient reaches {', '.join(none)}: something on the way is detached."
    return f"It differs at {', '.join(wrong)}. Halve only the gradient at the input of g, and no number of the forward pass."
