"""The loss over K unrolled steps (Schrittwieser et al. 2020, equation 1 and appendix G; handout section 4)."""

import torch
from torch.nn import functional as F

from labs.muzero.given.games import Loss


def scale_gradient(x, scale):
    """Return x unchanged; on the way back, its gradient is multiplied by `scale`."""
    ### BEGIN SOLUTION 4.2
    return scale * x + (1 - scale) * x.detach()
    ### END SOLUTION


def unrolled_loss(model, batch):
    """Unroll the model along the moves of a batch and return the loss with its parts.

    Args:
        model: a Model; it is called through represent, dynamics and predict.
        batch: a Batch of B samples and K steps.

    Returns:
        Loss: each part is the mean over the batch of its terms, weighted by 1 at step 0 and by 1/K at steps 1 to K.
        policy: cross entropy of the policies; a row of zeros counts 0.
        value, reward: squared errors; rewards begin with the first move.
        total: policy + value + reward.
        The gradient is halved each time a latent state enters the dynamics.
    """
    ### BEGIN SOLUTION 4
    unroll_steps = batch.moves.shape[1]
    latents = model.represent(batch.planes)
    policy, value, reward = torch.zeros(()), torch.zeros(()), torch.zeros(())
    for k in range(unroll_steps + 1):
        weight = 1.0
        if k > 0:
            weight = 1.0 / unroll_steps
            latents, rewards = model.dynamics(scale_gradient(latents, 0.5), batch.moves[:, k - 1])
            reward = reward + weight * F.mse_loss(rewards, batch.rewards[:, k - 1])
        logits, values = model.predict(latents)
        cross_entropy = -(batch.policies[:, k] * F.log_softmax(logits, dim=1)).sum(dim=1)
        policy = policy + weight * cross_entropy.mean()
        value = value + weight * F.mse_loss(values, batch.values[:, k])
    return Loss(policy + value + reward, policy, value, reward)
    ### END SOLUTION
