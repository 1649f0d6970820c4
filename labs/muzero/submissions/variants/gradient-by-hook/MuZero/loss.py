"""The unrolled loss with hooks in place of a scaled sum."""

import torch

from labs.muzero.given.games import Loss


def scale_gradient(x, scale):
    scaled = x.clone()
    if scaled.requires_grad:
        scaled.register_hook(lambda gradient: gradient * scale)
    return scaled


def cross_entropy(policy, logits):
    return -torch.sum(policy * torch.log_softmax(logits, dim=-1), dim=-1).mean()


def unrolled_loss(model, batch):
    state = model.represent(batch.planes)
    logits, value = model.predict(state)
    at_root = [cross_entropy(batch.policies[:, 0], logits), torch.mean((value - batch.values[:, 0]) ** 2)]
    later = []
    for k, action in enumerate(batch.moves.unbind(1)):
        state, reward = model.dynamics(state, action)
        logits, value = model.predict(state)
        later.append(
            torch.stack(
                [
                    cross_entropy(batch.policies[:, k + 1], logits),
                    torch.mean((value - batch.values[:, k + 1]) ** 2),
                    torch.mean((reward - batch.rewards[:, k]) ** 2),
                ]
            )
        )
        state = scale_gradient(state, 0.5)
    policy, value, reward = torch.stack(later).mean(dim=0)
    parts = [at_root[0] + policy, at_root[1] + value, reward]
    return Loss(sum(parts), *parts)
