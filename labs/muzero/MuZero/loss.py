"""The loss over K unrolled steps (Schrittwieser et al. 2020, equation 1 and appendix G; handout section 4)."""

import torch
from torch.nn import functional as F

from labs.muzero.given.games import Loss


def scale_gradient(x, scale):
    """Return x unchanged; on the way back, its gradient is multiplied by `scale`."""
    raise NotImplementedError("MuZero/loss.py: scale_gradient: see handout section 4.2")


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
    raise NotImplementedError("MuZero/loss.py: unrolled_loss: see handout section 4")
