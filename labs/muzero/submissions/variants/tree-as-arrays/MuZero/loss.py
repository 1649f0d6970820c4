"""The unrolled loss with an autograd function; all steps are predicted in one call."""

import torch

from labs.muzero.given.games import Loss


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.scale = scale
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return ctx.scale * gradient, None


def scale_gradient(x, scale):
    return Scale.apply(x, scale)


def unrolled_loss(model, batch):
    samples, steps = batch.moves.shape
    states, rewards = [model.represent(batch.planes)], []
    for k in range(steps):
        state, reward = model.dynamics(scale_gradient(states[-1], 0.5), batch.moves[:, k])
        states.append(state)
        rewards.append(reward)
    logits, values = model.predict(torch.cat(states))
    log_probs = torch.log_softmax(logits, dim=1).reshape(steps + 1, samples, -1)
    errors = values.reshape(steps + 1, samples) - batch.values.T
    weights = torch.tensor([1.0] + [1 / steps] * steps)
    policy = weights @ -(batch.policies.transpose(0, 1) * log_probs).sum(dim=2).mean(dim=1)
    value = weights @ errors.square().mean(dim=1)
    reward = (torch.stack(rewards, dim=1) - batch.rewards).square().mean()
    return Loss(policy + value + reward, policy, value, reward)
