"""The model of the handout in numpy, h, g and f from the weights alone, and the drawn SineModel; both in float64."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

import numpy as np
import torch

from labs.muzero.given.sine_model import SineModel

Weights = Mapping[str, np.ndarray]
GAIN, BIAS = 1.6, 0.3  # of drawn weights; larger than usual, so that predictions differ clearly
SWING = 3.0  # of the weights of a SineModel
NARROWEST = 1e-5


class Sizes(NamedTuple):
    """P, H, W, D and the size of the hidden layers."""

    planes: int
    height: int
    width: int
    latent: int
    hidden: int

    @property
    def actions(self) -> int:
        """The number of actions, A."""
        return self.height * self.width

    def layers(self) -> dict[str, tuple[int, int]]:
        """Return the name of each hidden network -> the sizes of its input and its output."""
        return {
            "observe": (self.planes * self.actions, self.latent),
            "act": (self.latent + self.actions, self.latent),
            "reward_head": (self.latent, 1),
            "policy_head": (self.latent, self.actions),
            "value_head": (self.latent, 1),
        }


def draw_sizes(rng: Random) -> Sizes:
    """Draw the sizes of a small model."""
    return Sizes(rng.randrange(1, 4), rng.randrange(2, 4), rng.randrange(2, 4), rng.randrange(5, 8), rng.randrange(6, 10))


def draw_weights(sizes: Sizes, numbers: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw weights of a model, float32, by the names of its state_dict."""
    weights = {}
    for name, (inputs, outputs) in sizes.layers().items():
        for layer, (rows, columns) in {"0": (sizes.hidden, inputs), "2": (outputs, sizes.hidden)}.items():
            weights[f"{name}.{layer}.weight"] = numbers.normal(0, GAIN / np.sqrt(columns), (rows, columns))
            weights[f"{name}.{layer}.bias"] = numbers.normal(0, BIAS, rows)
    return {name: array.astype(np.float32) for name, array in weights.items()}


def scaled(x: np.ndarray) -> np.ndarray:
    """Scale each row to [0, 1]."""
    low, high = x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True)
    return np.asarray((x - low) / np.maximum(high - low, NARROWEST))


class OwnModel:
    """h, g and f.

    Args:
        weights: by the names of the state_dict.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = {name: array.astype(np.float64) for name, array in weights.items()}
        self.actions = len(weights["policy_head.2.bias"])

    def _network(self, name: str, x: np.ndarray) -> np.ndarray:
        for layer in ("0", "2"):
            x = x @ self._weights[f"{name}.{layer}.weight"].T + self._weights[f"{name}.{layer}.bias"]
            if layer == "0":
                x = np.maximum(x, 0.0)
        return x

    def represent(self, planes: np.ndarray) -> np.ndarray:
        """Return the latent states [N, D] of feature planes [N, P, H, W]."""
        return scaled(self._network("observe", planes.reshape(len(planes), -1)))

    def dynamics(self, latents: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the next latent states [N, D] and the rewards [N]."""
        following = scaled(self._network("act", np.hstack([latents, np.eye(self.actions)[actions]])))
        return following, np.tanh(self._network("reward_head", following))[:, 0]

    def predict(self, latents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits [N, A] and the values [N]."""
        return self._network("policy_head", latents), np.tanh(self._network("value_head", latents))[:, 0]

    def unroll(self, planes: np.ndarray, actions: np.ndarray) -> dict[str, np.ndarray]:
        """Return latents [K + 1, N, D], rewards [K, N], logits [K + 1, N, A] and values [K + 1, N] along actions [N, K]."""
        latents, rewards = [self.represent(planes)], []
        for k in range(actions.shape[1]):
            following, reward = self.dynamics(latents[-1], actions[:, k])
            latents.append(following)
            rewards.append(reward)
        heads = [self.predict(each) for each in latents]
        logits, values = (np.stack(column) for column in zip(*heads, strict=True))
        return {"latents": np.stack(latents), "rewards": np.stack(rewards), "logits": logits, "values": values}


def weights_of(flat: np.ndarray, sizes: Sizes) -> dict[str, np.ndarray]:
    """Return the weights of a model from all their numbers, in the order of the names."""
    shapes = {name: array.shape for name, array in draw_weights(sizes, np.random.default_rng(0)).items()}
    weights, begin = {}, 0
    for name in sorted(shapes):
        size = int(np.prod(shapes[name]))
        weights[name] = flat[begin : begin + size].reshape(shapes[name])
        begin += size
    return weights


def number_of_weights(sizes: Sizes) -> int:
    """Return how many numbers the weights of a model are."""
    return sum(array.size for array in draw_weights(sizes, np.random.default_rng(0)).values())


class DrawnModel:
    """A SineModel with weights of its own, seen through numpy; `model` is the module itself, in float64.

    Args:
        sizes: P, H, W and D.
    """

    def __init__(self, sizes: tuple[int, int, int, int], numbers: np.random.Generator) -> None:
        self.model = SineModel(*sizes)
        self.weights = {
            name: numbers.normal(0, SWING / np.sqrt(tensor.shape[-1]) if tensor.ndim > 1 else BIAS, tensor.shape).astype(
                np.float32
            )
            for name, tensor in self.model.state_dict().items()
        }
        self.model.load_state_dict({name: torch.as_tensor(array) for name, array in self.weights.items()})
        self.model.double()
        self.actions = self.model.actions

    def represent(self, planes: np.ndarray) -> np.ndarray:
        """Return the latent states [N, D] of feature planes [N, P, H, W]."""
        with torch.no_grad():
            return self.model.represent(torch.tensor(planes, dtype=torch.float64)).numpy()

    def dynamics(self, latents: np.ndarray, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the next latent states [N, D] and the rewards [N]."""
        with torch.no_grad():
            following, rewards = self.model.dynamics(torch.tensor(latents), torch.tensor(actions))
            return following.numpy(), rewards.numpy()

    def predict(self, latents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the logits [N, A] and the values [N]."""
        with torch.no_grad():
            logits, values = self.model.predict(torch.tensor(latents))
            return logits.numpy(), values.numpy()
