"""h, g and f; a buffer of the module holds the one-hot vectors of all actions."""

import torch
import torch.nn as nn


def mlp(inputs, hidden, outputs):
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, outputs))


def scaled_to_unit(latents):
    low = latents.min(1, keepdim=True)[0]
    shifted = latents - low
    return shifted / (shifted.max(1, keepdim=True)[0] + 1e-6)


class Model(nn.Module):
    def __init__(self, planes, height, width, latent=32, hidden=64):
        super().__init__()
        self.actions = height * width
        self.observe = mlp(planes * height * width, hidden, latent)
        self.act = mlp(latent + self.actions, hidden, latent)
        self.reward_head = mlp(latent, hidden, 1)
        self.policy_head = mlp(latent, hidden, self.actions)
        self.value_head = mlp(latent, hidden, 1)
        self.register_buffer("unit", torch.eye(self.actions))

    def represent(self, planes):
        return scaled_to_unit(self.observe(planes.reshape(planes.shape[0], -1)))

    def predict(self, latents):
        return self.policy_head(latents), self.value_head(latents).tanh()[:, 0]

    def dynamics(self, latents, actions):
        state = scaled_to_unit(self.act(torch.hstack((latents, self.unit[actions.long()]))))
        return state, self.reward_head(state).tanh().flatten()
