"""The latent states and the dynamics (handout 2)."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.judge.support.ruling import Ruling
from labs.muzero.checks.calls import close, expect_numbers, model_in, probed, shown
from labs.support.cases import Cases

VECTORS, MODELS = 8, 8
NEAR = 1e-3
TAUGHT = ("observe", "act", "reward_head")  # the networks on which the last reward of several steps depends


@pytest.mark.points("model.range")
def test_range(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Scale drawn vectors, one of them constant.

    Accepts:
        The divisor is clamped at a number of at most 1e-5, or such a number is added to it (reference, one-hot-rows)
    """
    ruling.expected = "Each latent state reaches from 0, its own smallest entry, to 1, its own largest."
    for _ in range(VECTORS):
        latents = cases.draw("scaling", rng)["latents"]
        got = expect_numbers(
            probed(worker, "Scaled", ["result"], latents=latents), "result", latents.shape, "The result of scaled_to_unit"
        )
        varied, result = latents[:-1], got[:-1]
        low, high = varied.min(axis=1, keepdims=True), varied.max(axis=1, keepdims=True)
        if got.min() < -NEAR or got.max() > 1 + NEAR:
            raise StudentFault(f"Scaled entries must lie in [0, 1]; yours lie in [{got.min():.3g}, {got.max():.3g}].")
        if not np.allclose(result, (varied - low) / (high - low), atol=NEAR):
            whole = (varied - latents.min()) / (latents.max() - latents.min())
            columns = (latents - latents.min(axis=0)) / np.ptp(latents, axis=0)
            reason = "Each latent state must reach from 0 to 1 between its own smallest and its own largest entry"
            if np.allclose(result, whole, atol=NEAR) or np.allclose(got, columns, atol=NEAR):
                reason += "; yours are scaled over the whole batch"
            raise StudentFault(f"{reason}. For {shown(varied[0])} the result is {shown(result[0])}.")
    ruling.seen = f"The same numbers for {VECTORS} sets of vectors, and finite numbers for vectors whose entries are all equal."


@pytest.mark.points("model.dynamics")
def test_dynamics(worker: Worker, ruling: Ruling, rng: Random, cases: Cases) -> None:
    """Unroll models of drawn weights along drawn actions.

    Accepts:
        The one-hot vectors are written into zeros, or are rows of a unit matrix (reference, one-hot-rows)
        The module holds buffers or frozen parameters besides its weights (unit-as-buffer, searched-in-lockstep)
    """
    ruling.expected = "dynamics gives the next latent states and the rewards that the handout defines."
    taught = []
    for _ in range(MODELS):
        case = cases.draw("unrolling", rng)
        arguments = {**model_in(case), "planes": case["planes"], "actions": case["actions"]}
        values = probed(worker, "Unrolled", ["latents", "rewards", "taught"], **arguments)
        if len(case["rewards"]) > 1:
            taught.append(values["taught"])
        latents = expect_numbers(values, "latents", case["latents"].shape, "The latent states of K + 1 steps, [K + 1, N, D],")
        rewards = expect_numbers(values, "rewards", case["rewards"].shape, "The rewards of K steps, [K, N],")
        if not close(latents[0], case["latents"][0]):
            raise StudentFault("The latent states of the root are wrong already; scaled_to_unit and represent make them.")
        for k in range(1, len(latents)):
            if latents[k].min() < -NEAR or latents[k].max() > 1 + NEAR:
                low, high = latents[k].min(), latents[k].max()
                raise StudentFault(
                    f"The latent states of step {k} leave [0, 1], where scaled_to_unit would keep them: they lie in "
                    f"[{low:.3g}, {high:.3g}]."
                )
            if not close(latents[k], case["latents"][k]):
                got, right = shown(latents[k][0, :3]), shown(case["latents"][k][0, :3])
                raise StudentFault(
                    f"The latent states of step {k} are wrong: the first begins with {got}, expected {right}. "
                    "The action is a one-hot vector behind the latent state."
                )
            if not close(rewards[k - 1], case["rewards"][k - 1]):
                raise StudentFault(
                    f"The rewards of step {k} are {shown(rewards[k - 1])}, expected {shown(case['rewards'][k - 1])}. "
                    "The reward is read from the next latent state, and tanh keeps it in [-1, 1]."
                )
    untaught = [name for name, ever in zip(TAUGHT, np.any(taught, axis=0), strict=True) if not ever] if taught else []
    if untaught:
        raise StudentFault(
            f"The numbers are right, but no gradient of the last reward reaches {', '.join(untaught)}: something in the "
            "dynamics is detached, so training cannot teach these layers what comes later."
        )
    ruling.seen = f"The same latent states and rewards for {MODELS} models, and gradients back to the representation."
