"""The loss of the handout by steps, and its gradients by torch, with hooks in place of a scaled sum."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch

from labs.muzero.given.sine_model import SineModel

RIGHT = ALWAYS, AFTER_THE_FIRST = "always", "after the first"
SLIPS = NEVER, INPUTS, OUTPUTS = "never", "inputs and heads", "outputs and heads"
"""Where the gradient is halved: at every input of g, or only at inputs that are outputs of g; or, by mistake, nowhere, or for f
as well, at every state that enters g or at every state that leaves it."""


def steps_and_gradients(model: SineModel, batch: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the unweighted terms, [3, K + 1] for policy, value and reward (0 at step 0), and each way's flat gradient."""
    results = {way: _unrolled(model, batch, way) for way in (*RIGHT, *SLIPS)}
    return results[ALWAYS][0], {way: gradient for way, (_, gradient) in results.items()}


def _halved(latents: torch.Tensor) -> torch.Tensor:
    """Return a copy through which half of the gradient flows back."""
    copy = latents.clone()
    copy.register_hook(lambda gradient: gradient / 2)
    return copy


def _unrolled(model: SineModel, batch: Mapping[str, np.ndarray], way: str) -> tuple[np.ndarray, np.ndarray]:
    model.zero_grad()
    planes, policies, values, rewards = (
        torch.tensor(batch[name], dtype=torch.float64) for name in ("planes", "policies", "values", "rewards")
    )
    moves = torch.tensor(batch["moves"])
    count, unroll_steps = moves.shape
    latents, terms = model.represent(planes), []
    for k in range(unroll_steps + 1):
        reward = torch.zeros((), dtype=torch.float64)
        if k:
            is_halved = way == ALWAYS or (way == AFTER_THE_FIRST and k > 1)
            latents, predicted = model.dynamics(_halved(latents) if is_halved else latents, moves[:, k - 1])
            reward = (predicted - rewards[:, k - 1]).square().sum() / count
        if (way == INPUTS and k < unroll_steps) or (way == OUTPUTS and k):
            latents = _halved(latents)
        logits, predicted = model.predict(latents)
        policy = -(policies[:, k] * logits.log_softmax(dim=1)).sum() / count
        value = (predicted - values[:, k]).square().sum() / count
        terms.append(torch.stack([policy, value, reward]))
    (terms[0].sum() + torch.stack(terms[1:]).sum() / unroll_steps).backward()
    weights = dict(model.named_parameters())
    gradient = torch.cat([own.reshape(-1) for name in sorted(weights) if (own := weights[name].grad) is not None])
    return torch.stack(terms).detach().numpy().T, gradient.numpy()
