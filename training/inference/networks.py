"""Networks of runs: the course's network of the students (`AlphaZero/`), and three that suit any game.

    course      the student's network; Gomoku only, since its planes and outputs are those of a Gomoku board
    plain       three 3x3 convolutions of 32, 64 and 128 filters without batch norm, a policy head of four 1x1 filters, and a
                value head of two 1x1 filters and 64 units, as several papers on small boards have it
    residual    residual blocks (He et al. 2016; Silver et al. 2017, Methods) with heads like the course's
    pooled      the same blocks with heads that have no weights for single points, so that a network which has learnt on a
                small board can go on learning on a larger one: the policy weighs the features of each point in the same way,
                a pass is worth a mean over the board, and the value pools the board by mean and maximum (Wu 2019, section 3.3)

`forward` maps states [N, P, H, W] float32 to (log_probs [N, A], values [N, 1]), for the side to move. The layers have the
names of the course's network, so that `training.inference.evaluators` folds their batch norm in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from common.errors import UsageError
from common.weights import WeightsError, read_sizes, read_weights_of_board, without_idle_blocks
from games.gomoku.rules import GomokuRules
from games.protocol import GameRules

L2 = 1e-4
PLAIN_FILTERS = (32, 64, 128)
PLAIN_UNITS, RESIDUAL_UNITS = 64, 256
POOLED_FILTERS, POOLED_UNITS = 32, 64
PADDING = 2  # rows and columns of zero padding on each side of the planes of the course's network


class TrainableNetwork(Protocol):
    """A network with its optimiser; the student's `PolicyValueNet` is one."""

    model: Any  # an nn.Module
    optimizer: Any  # a torch.optim.Optimizer
    device: torch.device

    def train_step(
        self, state_batch: np.ndarray, mcts_probs: np.ndarray, winner_batch: np.ndarray, lr: float
    ) -> tuple[float, float]:
        """Learn from a batch: states [N, P, H, W], policies [N, A], results [N]; return (loss, entropy)."""
        ...


class ResidualBlock(nn.Sequential):
    """Two 3x3 convolutions with batch norm, whose result is added to the input."""

    def __init__(self, filters: int) -> None:
        super().__init__(
            nn.Conv2d(filters, filters, 3, padding=1),
            nn.BatchNorm2d(filters),
            nn.ReLU(),
            nn.Conv2d(filters, filters, 3, padding=1),
            nn.BatchNorm2d(filters),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(x + super().forward(x))


class GameModel(nn.Module):
    """The layers of a plain (`blocks` is 0) or a residual network for any game.

    Args:
        rules: the game.
        blocks: the number of residual blocks; 0 for the plain network.
        filters: the number of filters of the residual blocks.
    """

    def __init__(self, rules: GameRules, blocks: int, filters: int) -> None:
        super().__init__()
        points = rules.width * rules.height
        plain = blocks == 0
        policy_filters, value_filters, units = (4, 2, PLAIN_UNITS) if plain else (2, 1, RESIDUAL_UNITS)
        first = PLAIN_FILTERS[0] if plain else filters
        self.conv2d_1 = nn.Conv2d(rules.planes, first, 3, padding=1)
        sizes = list(pairwise(PLAIN_FILTERS)) if plain else []
        self.plain = nn.ModuleList(nn.Conv2d(into, out, 3, padding=1) for into, out in sizes)
        self.resnet = nn.Sequential(*(ResidualBlock(filters) for _ in range(blocks)))
        last = PLAIN_FILTERS[-1] if plain else filters

        def norm(size: int) -> nn.Module:
            return nn.Identity() if plain else nn.BatchNorm2d(size)

        self.conv2d_2, self.bn_1 = nn.Conv2d(last, policy_filters, 1), norm(policy_filters)
        self.dense_layer_1 = nn.Linear(policy_filters * points, rules.actions)
        self.conv2d_3, self.bn_2 = nn.Conv2d(last, value_filters, 1), norm(value_filters)
        self.dense_layer_2 = nn.Linear(value_filters * points, units)
        self.flatten_layer_3 = nn.Linear(units, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = F.relu(self.conv2d_1(x))
        for layer in self.plain:
            x = F.relu(layer(x))
        x = self.resnet(x)
        policy = F.relu(self.bn_1(self.conv2d_2(x))).flatten(1)
        value = F.relu(self.bn_2(self.conv2d_3(x))).flatten(1)
        value = F.relu(self.dense_layer_2(value))
        return F.log_softmax(self.dense_layer_1(policy), dim=1), torch.tanh(self.flatten_layer_3(value))


class PooledModel(nn.Module):
    """The layers of a pooled network, which are the same for every size of the board.

    Args:
        rules: the game.
        blocks, filters: the numbers of residual blocks and of their filters.
    """

    def __init__(self, rules: GameRules, blocks: int, filters: int) -> None:
        super().__init__()
        self.conv2d_1 = nn.Conv2d(rules.planes, filters, 3, padding=1)
        self.resnet = nn.Sequential(*(ResidualBlock(filters) for _ in range(blocks)))
        self.conv2d_2, self.bn_1 = nn.Conv2d(filters, POOLED_FILTERS, 1), nn.BatchNorm2d(POOLED_FILTERS)
        self.dense_layer_1 = nn.Linear(POOLED_FILTERS, 1 + rules.actions - rules.width * rules.height)
        self.conv2d_3, self.bn_2 = nn.Conv2d(filters, POOLED_FILTERS, 1), nn.BatchNorm2d(POOLED_FILTERS)
        self.dense_layer_2 = nn.Linear(2 * POOLED_FILTERS, POOLED_UNITS)
        self.flatten_layer_3 = nn.Linear(POOLED_UNITS, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = self.resnet(F.relu(self.conv2d_1(x)))
        policy = F.relu(self.bn_1(self.conv2d_2(x)))
        value = F.relu(self.bn_2(self.conv2d_3(x))).flatten(2)
        # Actions count from the bottom row; row 0 of the planes is the top row.
        logits = self.dense_layer_1(policy.flip(2).permute(0, 2, 3, 1).flatten(1, 2))  # [N, H * W, 1, or 2 with a pass]
        logits = torch.cat((logits[:, :, 0], logits[:, :, 1:].mean(dim=1)), dim=1)
        value = F.relu(self.dense_layer_2(torch.cat((value.mean(dim=2), value.amax(dim=2)), dim=1)))
        return F.log_softmax(logits, dim=1), torch.tanh(self.flatten_layer_3(value))


class GameNetwork:
    """See TrainableNetwork: mean squared error, cross entropy and L2, with Adam.

    Args:
        model: the layers.
        device: where to train; None for the GPU if there is one.
    """

    def __init__(self, model: nn.Module, device: str | None = None) -> None:
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.model = model.to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.Adam(self.model.parameters())
        self._weights = [weights for name, weights in self.model.named_parameters() if not name.endswith("bias")]

    def train_step(
        self, state_batch: np.ndarray, mcts_probs: np.ndarray, winner_batch: np.ndarray, lr: float
    ) -> tuple[float, float]:
        """See TrainableNetwork."""
        states, probs, winners = (
            torch.from_numpy(np.ascontiguousarray(array)).to(self.device) for array in (state_batch, mcts_probs, winner_batch)
        )
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.model.train()
        log_probs, values = self.model(states)
        log_probs, values = log_probs.float(), values.float()
        penalty = sum(weights.pow(2).sum() for weights in self._weights)
        loss = F.mse_loss(values[:, 0], winners) - (probs * log_probs).sum(dim=1).mean() + L2 / 2 * penalty
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        entropy = -(log_probs.exp() * log_probs).sum(dim=1).mean()
        return float(loss.item()), float(entropy.item())


def new_model(kind: str, rules: GameRules, blocks: int, filters: int) -> nn.Module:
    """Make the layers of a network with new random weights.

    Args:
        kind: course, plain, residual or pooled.
        rules: the game.
        blocks, filters: the number of residual blocks and of their filters; the course's network has 64.

    Raises:
        NotImplementedError: the course's network is not written yet.
    """
    if kind == "course":
        from AlphaZero.policy_value_net_torch import PolicyValueNetModel

        model: nn.Module = PolicyValueNetModel(rules.width, rules.height, blocks, rules.planes)
        return model
    if kind == "pooled":
        return PooledModel(rules, blocks, filters)
    return GameModel(rules, blocks if kind == "residual" else 0, filters)


def structured_model(kind: str, rules: GameRules, blocks: int, filters: int) -> nn.Module:
    """Make the layers of a network with new weights that learn sooner than ordinary random ones.

    The residual blocks change nothing yet. The dense layer of the course's policy passes on the difference of the head's two
    planes at the point of each move, and so treats all points alike. With random weights it would have to learn separately for
    each point how to read the tower's output there.

    Args, Raises: see `new_model`.
    """
    model = new_model(kind, rules, blocks, filters)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.startswith("resnet.") and name.endswith(".4.weight"):
                parameter.zero_()
        if kind == "course":
            weight, bias = (model.get_parameter(f"dense_layer_1.{name}") for name in ("weight", "bias"))
            weight.zero_()
            bias.zero_()
            points = np.arange(rules.actions)
            h, w = np.divmod(points, rules.width)
            place = (rules.height - 1 - h + PADDING) * (rules.width + 2 * PADDING) + w + PADDING  # row 0 is the top row
            weight[points, 2 * place] = 1.0
            weight[points, 2 * place + 1] = -1.0
    return model


def trainable_network(kind: str, rules: GameRules, blocks: int, filters: int) -> TrainableNetwork:
    """Make a network with its optimiser; see `new_model`."""
    if kind == "course":
        from AlphaZero.policy_value_net_torch import PolicyValueNet

        network: TrainableNetwork = PolicyValueNet(rules.width, rules.height, blocks, cuda=torch.cuda.is_available())
        network.model.to(memory_format=torch.channels_last)  # in place; training steps are faster with this layout
        return network
    return GameNetwork(new_model(kind, rules, blocks, filters))


def is_game_model(state: Mapping[str, torch.Tensor]) -> bool:
    """Whether these are weights of a network for any game; the course's begin with a 1x1 convolution, these do not."""
    return bool(state["conv2d_1.weight"].shape[2:] == (3, 3))


def holds_game_model(path: str) -> bool:
    """Whether a file holds weights of a network for any game."""
    try:
        return is_game_model(torch.load(path, map_location="cpu", weights_only=True))
    except Exception:  # as below; whoever reads the file as weights of the course's network says what is wrong with it
        return False


def kind_of(state: Mapping[str, torch.Tensor]) -> tuple[str, int, int]:
    """Return which network has these weights, and the numbers of its residual blocks and of the filters of its first layer."""
    blocks = len({name.split(".")[1] for name in state if name.startswith("resnet.")})
    if not is_game_model(state):
        kind = "course"
    elif state["conv2d_2.bias"].shape == state["dense_layer_1.weight"].shape[1:]:
        kind = "pooled"
    else:
        kind = "residual" if blocks else "plain"
    return kind, blocks, len(state["conv2d_1.bias"])


def actions_of(path: str) -> int:
    """Return the number of actions of the network in a file of weights.

    Raises:
        UsageError: the file cannot be read or does not hold weights of a network, or that network is pooled.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        kind, actions = kind_of(state)[0], len(state["dense_layer_1.bias"])
    except Exception as error:  # as below
        raise UsageError(
            f"expected weights of a network in {path}; the file is missing, damaged or holds other data"
        ) from error
    if kind == "pooled":
        raise UsageError(f"expected --board with the network in {path}, which plays on boards of any size")
    return actions


def read_game_model(path: str, rules: GameRules) -> nn.Module:
    """Make a network for any game from a file of its weights, whose shapes say which one and how large it is.

    Raises:
        UsageError: the file cannot be read or does not hold weights of such a network for this game.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        kind, blocks, filters = kind_of(state)
        model = new_model(kind, rules, blocks, filters)
        model.load_state_dict(state)
    except Exception as error:  # torch's unpickler has no common class for the errors of a damaged file
        raise UsageError(
            f"expected weights of a network for {rules.name} on {rules.width}x{rules.height} in {path}; "
            "the file is missing, damaged or holds other weights"
        ) from error
    return model


def read_model(path: str, rules: GameRules) -> nn.Module:
    """Make a network from a file of its weights, which say which network it is.

    Idle residual blocks of the course's network are left out.

    Raises:
        UsageError: the file holds no weights, or weights for another board or game.
        NotImplementedError: the course's network is not written yet.
    """
    if not isinstance(rules, GomokuRules) or holds_game_model(path):
        return read_game_model(path, rules)
    try:
        state = without_idle_blocks(read_weights_of_board(path, rules.width, rules.height))
    except WeightsError as error:
        raise UsageError(str(error)) from error
    model = new_model("course", rules, read_sizes(state)[2], filters=64)
    model.load_state_dict(state)
    return model
