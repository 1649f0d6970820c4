"""The model: representation h, dynamics g and prediction f (Schrittwieser et al. 2020; handout section 2).

A latent state is a vector of D numbers in [0, 1]. N is the number of samples, A = H * W the number of actions.
"""

import torch
from torch import nn


def mlp(inputs, hidden, outputs):
    """Return a network with one hidden layer (provided)."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def scaled_to_unit(latents):
    """Scale each latent state to [0, 1], between its own smallest and its own largest entry.

    Args:
        latents: [N, D]. Where all D entries are equal, the result must lie in [0, 1], too.

    Returns:
        [N, D], each row with smallest entry 0 and largest entry 1.
    """
    ### BEGIN SOLUTION 2.1
    smallest = latents.amin(dim=1, keepdim=True)
    largest = latents.amax(dim=1, keepdim=True)
    return (latents - smallest) / (largest - smallest).clamp_min(1e-5)
    ### END SOLUTION


class Model(nn.Module):
    """h, g and f.

    Args:
        planes, height, width: P, H and W of the feature planes.
        latent: D, the size of a latent state.
        hidden: the size of all hidden layers.
    """

    def __init__(self, planes, height, width, latent=32, hidden=64):
        super().__init__()
        self.actions = height * width
        self.observe = mlp(planes * height * width, hidden, latent)
        self.act = mlp(latent + self.actions, hidden, latent)
        self.reward_head = mlp(latent, hidden, 1)
        self.policy_head = mlp(latent, hidden, self.actions)
        self.value_head = mlp(latent, hidden, 1)

    def represent(self, planes):
        """h: feature planes [N, P, H, W] -> latent states [N, D] (provided)."""
        return scaled_to_unit(self.observe(planes.flatten(1)))

    def predict(self, latents):
        """f: latent states [N, D] -> logits of all actions [N, A], values [N] for the side to move (provided)."""
        return self.policy_head(latents), torch.tanh(self.value_head(latents)).squeeze(1)

    def dynamics(self, latents, actions):
        """g: latent states and one action for each -> the next latent states and the rewards of the actions.

        `self.act` takes the latent state followed by the action as a one-hot vector; its output, scaled to [0, 1], is the
        next latent state. `self.reward_head` takes that next latent state; the reward is its output after tanh.

        Args:
            latents: [N, D].
            actions: [N] int64.

        Returns:
            (next latent states [N, D], rewards [N] for the player who acts).
        """
        ### BEGIN SOLUTION 2.2
        chosen = torch.zeros(len(actions), self.actions)
        chosen[torch.arange(len(actions)), actions] = 1.0
        following = scaled_to_unit(self.act(torch.cat([latents, chosen], dim=1)))
        return following, torch.tanh(self.reward_head(following)).squeeze(1)
        ### END SOLUTION
