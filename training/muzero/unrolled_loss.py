"""MuZero's loss over K unrolled steps (Schrittwieser et al. 2020, equation 1 and appendix G).

    loss = l_0 + 1/K * sum of l_k for k = 1 to K
    l_k  = cross entropy(policy) + w_v (v - z)^2 + w_r (u - r)^2 + w_c (1 - cos(projected s_k, projected h(o_k)))

The gradient is halved where it enters the dynamics at each step, so that its size does not depend on K. The last term is the
consistency loss of EfficientZero (Ye et al. 2021, section 4.1); no gradient flows through its target h(o_k).
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional as F

from training.muzero.latent_model import MuZeroModel
from training.muzero.unrolled_targets import UnrolledBatch

GRADIENT_SCALE = 0.5


@dataclass(frozen=True)
class LossWeights:
    """The weights of the terms beside the policy's, whose weight is 1."""

    value: float = 1.0
    reward: float = 1.0
    consistency: float = 0.0


@dataclass(frozen=True)
class UnrolledLoss:
    """The loss and its unweighted parts, each averaged over the batch and weighted 1 and 1/K over the steps."""

    total: torch.Tensor
    policy: torch.Tensor
    value: torch.Tensor
    reward: torch.Tensor
    consistency: torch.Tensor


def scale_gradient(x: torch.Tensor, scale: float) -> torch.Tensor:
    """Return x, whose gradient is multiplied by `scale` on the way back."""
    return x * scale + x.detach() * (1 - scale)


def unrolled_loss(model: MuZeroModel, batch: UnrolledBatch, weights: LossWeights) -> UnrolledLoss:
    """Unroll the model along the moves of a batch and return its loss."""
    moves, policies, rewards = map(torch.from_numpy, (batch.moves, batch.policies, batch.rewards))
    values, has_value = map(torch.from_numpy, (batch.values, batch.has_value))
    unroll_steps = moves.shape[1]
    latents = model.represent(torch.from_numpy(batch.states))
    logits, value = model.predict(latents)
    policy_loss, value_loss = _cross_entropy(logits, policies[:, 0]), _value_error(value, values[:, 0], has_value[:, 0])
    reward_loss = consistency_loss = torch.zeros(())
    for k in range(1, unroll_steps + 1):
        latents = model.step(scale_gradient(latents, GRADIENT_SCALE), moves[:, k - 1])
        logits, value = model.predict(latents)
        policy_loss = policy_loss + _cross_entropy(logits, policies[:, k]) / unroll_steps
        value_loss = value_loss + _value_error(value, values[:, k], has_value[:, k]) / unroll_steps
        if weights.reward:
            reward_loss = reward_loss + F.mse_loss(model.reward(latents), rewards[:, k - 1]) / unroll_steps
        if weights.consistency:
            consistency_loss = consistency_loss + _inconsistency(model, latents, batch, k) / unroll_steps
    total = policy_loss + weights.value * value_loss + weights.reward * reward_loss + weights.consistency * consistency_loss
    return UnrolledLoss(total, policy_loss, value_loss, reward_loss, consistency_loss)


def _cross_entropy(logits: torch.Tensor, policies: torch.Tensor) -> torch.Tensor:
    """Return the mean cross entropy; a policy of zeros, as after the end of a game, counts as 0."""
    return -(policies * F.log_softmax(logits, dim=1)).sum(dim=1).mean()


def _value_error(value: torch.Tensor, target: torch.Tensor, has_value: torch.Tensor) -> torch.Tensor:
    """Return the mean squared error over the positions whose value is known; 0 if there are none."""
    return (has_value * (value - target).square()).sum() / has_value.sum().clamp_min(1)


def _inconsistency(model: MuZeroModel, latents: torch.Tensor, batch: UnrolledBatch, k: int) -> torch.Tensor:
    """Return 1 - cos between the latent states of step k and those of the real positions, averaged over games that go on."""
    assert batch.later_states is not None, "the consistency loss needs the later positions"
    with torch.no_grad():
        target = model.project(model.represent(torch.from_numpy(batch.later_states[:, k - 1])))
    distance = 1 - F.cosine_similarity(model.predict_projection(model.project(latents)), target, dim=1)
    going_on = torch.from_numpy(batch.before_end[:, k]).float()
    return (distance * going_on).sum() / going_on.sum().clamp_min(1)
