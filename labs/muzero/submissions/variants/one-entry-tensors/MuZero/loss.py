"""The unrolled loss; sums begin as a tensor with one entry or as a number."""

import torch
from torch.nn import functional as F

from labs.muzero.given.games import Loss


def scale_gradient(x, scale):
    return x.detach() + scale * (x - x.detach())


def unrolled_loss(model, batch):
    K = batch.moves.shape[1]
    policy, value, reward = torch.zeros(1), 0.0, torch.zeros(1)
    s = model.represent(batch.planes)
    for k in range(K + 1):
        weight = 1 / K if k else 1
        logits, v = model.predict(s)
        policy += weight * F.cross_entropy(logits, batch.policies[:, k])
        value += weight * F.mse_loss(v, batch.values[:, k])
        if k < K:
            s, u = model.dynamics(scale_gradient(s, 0.5), batch.moves[:, k])
            reward += F.mse_loss(u, batch.rewards[:, k]) / K
    return Loss(policy + value + reward, policy, value, reward)
