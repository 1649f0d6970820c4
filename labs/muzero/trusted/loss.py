"""The loss of the handout by steps, and its gradients by torch, with hooks in place of a scaled sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from labs.muzero.given.sine_model import SineModel

RIGHT = ALWAYS, AFTER_THE_FIRST = "always", "after the first"
SLIPS = NEVER, CUT, SHARED, INPUTS, OUTPUTS, STATES = (
    "never",
    "cut off",
    "shared out",
    "inputs and heads",
    "outputs and heads",
    "states",
)
"""Where the gradient is halved: at every input of g, or only at inputs that are outputs of g; or, by mistake, nowhere, or for f
as well, at every state that enters g or at every state that leaves it, or at each state itself, for the reward as well. Or it
is cut off or multiplied by 1/K in place of 1/2."""
DIRECTIONS = 6


def steps_and_gradients(model: SineModel, batch: Mapping[str, np.ndarray]) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the unweighted terms, [3, K + 1] for policy, value and reward (0 at step 0), and each way's flat gradient."""
    terms, gradients = np.zeros(0), {}
    for way in (*RIGHT, *SLIPS):
        samples = _unrolled(model, batch, way)
        by_step = samples.mean(dim=2)
        terms = by_step.detach().numpy().T
        (gradients[way],) = _gradients(model, [by_step[0].sum() + by_step[1:].sum() / (len(by_step) - 1)])
    return terms, gradients


def outside(model: SineModel, batch: Mapping[str, np.ndarray], numbers: np.random.Generator) -> dict[str, np.ndarray]:
    """Return for each right way directions [2, DIRECTIONS, weights] outside the gradients that other weights of its terms give.

    A loss that weights the terms of its samples in another way, or compares them with other targets, has a gradient that is
    orthogonal to the first directions if it is halved in this way. It is orthogonal to the second ones, too, only if all its
    terms are of step 0.
    """
    found = {}
    for way in RIGHT:
        samples = _unrolled(model, batch, way)
        columns = _gradients(model, list(samples.flatten()))
        steps = np.repeat(np.arange(len(samples)), samples[0].numel())
        found[way] = np.stack([_orthogonal(columns[steps < end], numbers) for end in (len(samples), 1)])
    return found


def slips(model: SineModel, batch: Mapping[str, np.ndarray]) -> dict[str, float]:
    """Return what each part is by typical mistakes, by the names of part and mistake."""
    policies, z, r = (torch.tensor(batch[name], dtype=torch.float64) for name in ("policies", "values", "rewards"))
    logits, v, u = _predicted(model, batch)
    of_halves = _predicted(model, batch, entering=0.5)
    later, earlier = (torch.cat(pair, dim=1) for pair in ((r[:, 1:], r[:, -1:]), (r[:, :1], r[:, :-1])))
    found = {
        "policy halves": -(policies * of_halves[0].log_softmax(dim=2)).sum(dim=2),
        "value halves": (of_halves[1] - z).square(),
        "reward halves": (of_halves[2] - r).square(),
        "policy samples": -(policies * logits.log_softmax(dim=0)).sum(dim=2),
        "policy logits": -(policies * logits).sum(dim=2),
        "policy probs": -(policies * logits.softmax(dim=2)).sum(dim=2),
        "policy twice": -(policies * logits.softmax(dim=2).log_softmax(dim=2)).sum(dim=2),
        "value absolute": (v - z).abs(),
        "value turned": (v - z * (-1) ** torch.arange(z.shape[1])).square(),
        "value opposite": (v + z).square(),
        "value pairs": (v[:, None] - z).square().mean(dim=1),
        "reward absolute": (u - r).abs(),
        "reward opposite": (u + r).square(),
        "reward later": (u - later).square(),
        "reward earlier": (u - earlier).square(),
        "reward pairs": (u[:, None] - r).square().mean(dim=1),
    }
    terms = {name: each.mean(dim=0) for name, each in found.items()}
    return {
        name: float(each.mean() if name.startswith("reward") else each[0] + each[1:].mean()) for name, each in terms.items()
    }


def _predicted(
    model: SineModel, batch: Mapping[str, np.ndarray], entering: float = 1.0
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return logits [B, K + 1, A], values [B, K + 1] and rewards [B, K]; `entering`: what multiplies a state that enters g."""
    moves = torch.tensor(batch["moves"])
    with torch.no_grad():
        latents, rewards = [model.represent(torch.tensor(batch["planes"], dtype=torch.float64))], []
        for actions in moves.T:
            following, reward = model.dynamics(entering * latents[-1], actions)
            latents.append(following)
            rewards.append(reward)
        logits, values = zip(*map(model.predict, latents), strict=True)
    return torch.stack(logits, dim=1), torch.stack(values, dim=1), torch.stack(rewards, dim=1)


def _orthogonal(rows: np.ndarray, numbers: np.random.Generator) -> np.ndarray:
    """Return drawn unit vectors [DIRECTIONS, n] that are orthogonal to all rows [m, n]."""
    _, sizes, basis = np.linalg.svd(rows, full_matrices=False)
    basis = basis[sizes > sizes.max() * 1e-9]
    drawn = numbers.normal(size=(DIRECTIONS, rows.shape[1]))
    drawn -= drawn @ basis.T @ basis
    return np.linalg.qr(drawn.T)[0].T


def _gradients(model: SineModel, numbers: Sequence[torch.Tensor]) -> np.ndarray:
    """Return the flat gradient of each number, [numbers, weights]."""
    weights = dict(model.named_parameters())
    ordered = [weights[name] for name in sorted(weights)]
    rows = []
    for number in numbers:
        found = torch.autograd.grad(number, ordered, retain_graph=True, materialize_grads=True) if number.requires_grad else ()
        rows.append(torch.cat([each.reshape(-1) for each in found or map(torch.zeros_like, ordered)]).numpy())
    return np.stack(rows)


def _scaled(latents: torch.Tensor, factor: float) -> torch.Tensor:
    """Return a copy through which this share of the gradient flows back."""
    copy = latents.clone()
    copy.register_hook(lambda gradient: gradient * factor)
    return copy


def _unrolled(model: SineModel, batch: Mapping[str, np.ndarray], way: str) -> torch.Tensor:
    """Return the terms of each sample, [K + 1, 3, B] for policy, value and reward."""
    planes, policies, values, rewards = (
        torch.tensor(batch[name], dtype=torch.float64) for name in ("planes", "policies", "values", "rewards")
    )
    moves = torch.tensor(batch["moves"])
    count, unroll_steps = moves.shape
    latents, terms = model.represent(planes), []
    for k in range(unroll_steps + 1):
        reward = torch.zeros(count, dtype=torch.float64)
        if k:
            is_halved = way == ALWAYS or (way == AFTER_THE_FIRST and k > 1)
            factor = 0.5 if is_halved else {CUT: 0.0, SHARED: 1 / unroll_steps}.get(way, 1.0)
            if way == STATES:
                latents.register_hook(lambda gradient: gradient / 2)
            latents, predicted = model.dynamics(_scaled(latents, factor), moves[:, k - 1])
            reward = (predicted - rewards[:, k - 1]).square()
        if (way == INPUTS and k < unroll_steps) or (way == OUTPUTS and k):
            latents = _scaled(latents, 0.5)
        logits, predicted = model.predict(latents)
        policy = -(policies[:, k] * logits.log_softmax(dim=1)).sum(dim=1)
        terms.append(torch.stack([policy, (predicted - values[:, k]).square(), reward]))
    return torch.stack(terms)
