"""The unrolled loss; errors of all steps are collected as one table."""

import torch

from labs.muzero.given.games import Loss


def scale_gradient(x, scale):
    y = x * 1.0
    if y.requires_grad:
        y.register_hook(lambda g: scale * g)
    return y


def unrolled_loss(model, batch):
    B, K = batch.moves.shape
    s = model.represent(batch.planes)
    table = torch.zeros(0, 3)
    u = batch.rewards.new_zeros(B)
    for k in range(K + 1):
        logits, v = model.predict(s)
        logp = logits - logits.logsumexp(1, keepdim=True)
        r = batch.rewards[:, k - 1] if k else torch.zeros(B)
        row = torch.stack(
            [-torch.einsum("ba,ba->b", batch.policies[:, k], logp), (v - batch.values[:, k]).pow(2), (u - r).pow(2)]
        )
        table = torch.cat([table, row.sum(1)[None] / (B if k == 0 else B * K)])
        if k < K:
            s, u = model.dynamics(scale_gradient(s, 0.5), batch.moves[:, k])
    policy, value, reward = table.sum(0).unbind()
    return Loss(total=table.sum(), policy=policy, value=value, reward=reward)
