"""The operations of a worker on a student's network, and on its training by the framework's `train.py`.

They are loaded beside `grader.confinement.worker` inside the sandbox. `net_create` or `train_start` makes the network that
later requests use.
"""

from __future__ import annotations

import contextlib
import copy
import os
from typing import Any

import numpy as np

from grader.confinement.layers import layer_outputs
from grader.confinement.loading import SCRATCH, STATE, board_at, load_module
from grader.confinement.optimiser_steps import Group, optimisers_watched, with_names
from grader.confinement.plain import have_same_layers, in_words, number, whole
from grader.confinement.stand_in import model_replaced

SYMMETRY_COUNT = 8  # a square board has eight symmetries
OPTIMISER_STEPS: list[list[Group]] = []  # those of the last train_step
HANDLES = (2, 3)  # action_fc_test and evaluation_fc2_test; a network may refuse all other handles


def torch_module() -> Any:
    torch = load_module("torch")
    torch.set_num_threads(1)
    return torch


def as_arrays(state_dict: dict[str, Any]) -> dict[str, np.ndarray]:
    return {key: tensor.detach().cpu().numpy() for key, tensor in state_dict.items()}


def as_tensors(weights: dict[str, np.ndarray]) -> dict[str, Any]:
    torch = torch_module()
    return {key: torch.as_tensor(value) for key, value in weights.items()}


def model_layout(width: int, height: int, block: int) -> dict[str, list[int]]:
    """Return key -> shape for the state_dict of a new PolicyValueNetModel."""
    torch_module()
    module = load_module("AlphaZero.policy_value_net_torch")
    model = module.PolicyValueNetModel(width, height, block, 9)
    return {key: list(tensor.shape) for key, tensor in model.state_dict().items()}


def net_create(
    width: int,
    height: int,
    block: int,
    weights: dict[str, np.ndarray] | None = None,
    by_file: bool = True,
    stand_in: bool = False,
    own_policy_value: bool = True,
) -> None:
    """Make a PolicyValueNet for later calls, with these weights or, by default, newly initialised.

    Args:
        by_file: write the weights to a file and pass it as init_model; otherwise load them into the model's state_dict.
        stand_in: let a small network of the grader's take the place of the student's PolicyValueNetModel.
        own_policy_value: otherwise let the outputs of `forward` take the place of those of the student's policy_value.
    """
    torch = torch_module()
    module = load_module("AlphaZero.policy_value_net_torch")
    path = None
    if weights is not None and by_file:
        path = os.path.join(SCRATCH, "given_weights.model")
        torch.save(as_tensors(weights), path)
    with model_replaced(module, torch) if stand_in else contextlib.nullcontext():
        STATE["net"] = module.PolicyValueNet(width, height, block, init_model=path)
    if weights is not None and not by_file:
        STATE["net"].model.load_state_dict(as_tensors(weights))
    if not own_policy_value:
        STATE["net"].policy_value = policy_value_by_forward


def policy_value_by_forward(states: Any, *_: Any, **__: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return what policy_value should, by the outputs of `forward`."""
    log_probs, value = net_forward(np.asarray(states))
    return np.exp(log_probs), value


def net_forward(states: np.ndarray, train_mode: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the log probabilities and values that `forward` gives in train or eval mode; the model stays as it is."""
    torch, model = torch_module(), STATE["net"].model
    # A model that remembers an activation with its gradient cannot be copied.
    tensors, modes = [*model.parameters(), *model.buffers()], [(module, module.training) for module in model.modules()]
    kept = [tensor.detach().clone() for tensor in tensors]
    with torch.no_grad():
        try:
            model.train(train_mode)
            log_probs, value = both(model(torch.as_tensor(states).to(precision_of(model))), "forward")
            return log_probs.cpu().numpy(), value.cpu().numpy()
        finally:
            for tensor, entries in zip(tensors, kept, strict=True):
                tensor.copy_(entries)
            for module, mode in modes:
                module.training = mode


def both(returned: Any, function: str) -> tuple[Any, Any]:
    """Return the outputs of both heads; raise TypeError, with the name of the function, for anything but two outputs."""
    try:
        policy, value = returned
    except (TypeError, ValueError):
        raise TypeError(f"{function} must return the policy and the value; it returned {in_words(returned)}") from None
    return policy, value


def precision_of(model: Any) -> Any:
    """Return the dtype of a model's first parameter: a network may compute in double precision."""
    return next((parameter.dtype for parameter in model.parameters()), torch_module().float32)


def net_forward_changed(changes: dict[str, np.ndarray], states: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Run `net_forward` with one entry of the model's state_dict changed at a time; return key -> both heads."""
    model = STATE["net"].model
    kept = {key: tensor.detach().clone() for key, tensor in model.state_dict().items()}
    heads = {}
    for key, value in changes.items():
        model.load_state_dict({**kept, **as_tensors({key: value})})
        heads[key] = net_forward(states)
    model.load_state_dict(kept)
    return heads


def net_layers(states: np.ndarray) -> list[list[Any]]:
    """Return what each named layer gives; see `layer_outputs`."""
    return layer_outputs(torch_module(), STATE["net"].model, states)


def net_policy_value(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    probs, value = both(STATE["net"].policy_value(states, *HANDLES), "policy_value")
    return np.asarray(probs), np.asarray(value)


def net_policy_value_fn(position: dict[str, Any]) -> tuple[list[tuple[int, float]], float]:
    """Return what policy_value_fn gives: the legal moves with priors, and the value."""
    return evaluation_by("policy_value_fn", position)


def net_random_symmetries(position: dict[str, Any], draws: int) -> list[tuple[list[tuple[int, float]], float]]:
    """Return the same from policy_value_fn_random, called `draws` times; each call draws a random symmetry."""
    return [evaluation_by("policy_value_fn_random", position) for _ in range(draws)]


def evaluation_by(function: str, position: dict[str, Any]) -> tuple[list[tuple[int, float]], float]:
    """Return what one of the two functions gives for a position.

    Raises:
        TypeError: the function fails, and policy_value, which it calls, returns something other than numpy arrays.
    """
    board = board_at(position)
    try:
        pairs, value = getattr(STATE["net"], function)(board, *HANDLES)
        return [(whole(move), number(prior)) for move, prior in pairs], number(value)
    except Exception as error:
        for part in both(STATE["net"].policy_value(board.current_state()[None], *HANDLES), "policy_value"):
            if not isinstance(part, np.ndarray):
                raise TypeError(
                    f"policy_value must return two numpy arrays, on which {function} works; it returned {in_words(part)}"
                ) from error
        raise


def net_train(states: np.ndarray, probs: np.ndarray, winners: np.ndarray, lr: float, steps: int) -> list[list[float]]:
    """Call train_step `steps` times on one batch, passed as in train.py; return the numbers that each step returns."""
    returned = []
    for _ in range(steps):
        with optimisers_watched(OPTIMISER_STEPS):
            # train.py makes a new array of winners for each step, which may work in it.
            step = STATE["net"].train_step(tuple(states), tuple(probs), winners.copy(), lr)
        returned.append(numbers_in(step))
    return returned


def net_optimiser_steps() -> list[list[Group]]:
    """Return the steps that optimisers took in the last train_step, each as its parameter groups; see `groups_of`."""
    return with_names(OPTIMISER_STEPS, STATE["net"].model)


def numbers_in(returned: Any) -> list[float]:
    """Return the numbers that a training step returns; they are two, the loss and the entropy, if it is right."""
    if returned is None:
        return []
    try:
        parts = list(returned)
    except TypeError:  # a single number
        parts = [returned]
    try:
        return [number(part) for part in parts]
    except (TypeError, ValueError):
        return []


def net_gradients() -> dict[str, np.ndarray]:
    """Return the gradients of the parameters after the last step; empty if there are none."""
    parameters = STATE["net"].model.named_parameters()
    return {name: w.grad.detach().cpu().numpy() for name, w in parameters if w.grad is not None}


def net_weights() -> dict[str, np.ndarray]:
    return as_arrays(STATE["net"].model.state_dict())


def train_start(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Make the framework's TrainPipeline with the student's modules and these weights; return the weights of its network.

    A network with other layers keeps its own initial weights. Later calls use the average network.
    """
    torch_module()
    for name in ("tmp", "model"):
        os.makedirs(os.path.join(SCRATCH, name), exist_ok=True)
    pipeline = load_module("train").TrainPipeline()
    own = as_arrays(pipeline.policy_value_net.model.state_dict())
    if have_same_layers(own, weights):
        for net in (pipeline.policy_value_net, pipeline.average_net):
            net.model.load_state_dict(as_tensors(weights))
        own = weights
    STATE["pipeline"], STATE["net"] = pipeline, pipeline.average_net
    return own


def train_games(games: int) -> None:
    """Play games of self-play, each followed by its updates."""
    for _ in range(games):
        STATE["pipeline"].step()


def train_play() -> dict[str, np.ndarray]:
    """Play one game of self-play; return it in the form of `watched_training.GameSamples`."""
    pipeline = STATE["pipeline"]
    pipeline.data_buffer.clear()
    pipeline.collect_selfplay_data()
    # Each sample comes in all symmetries, and the first is the one that was played.
    states, probs, winners = zip(*list(pipeline.data_buffer)[::SYMMETRY_COUNT], strict=True)
    targets = np.stack(probs)
    if targets.dtype not in (np.float32, np.float64):
        targets = targets.astype(float)
    return {"states": np.stack(states), "probs": targets, "winners": np.array(winners, dtype=float)}


def train_steps(states: np.ndarray, probs: np.ndarray, winners: np.ndarray, lr: float) -> list[dict[str, np.ndarray]]:
    """Take one training step per batch, passed as in train.py; return the weights after each step."""
    pipeline, weights = STATE["pipeline"], []
    for batch in zip(states, probs, winners, strict=True):
        pipeline.policy_value_net.train_step(tuple(batch[0]), tuple(batch[1]), batch[2], lr)
        pipeline.update_average()
        weights.append(as_arrays(copy.deepcopy(pipeline.policy_value_net.model.state_dict())))
    return weights


OF_THE_NETWORK = (
    model_layout,
    net_create,
    net_weights,
    net_forward,
    net_forward_changed,
    net_layers,
    net_policy_value,
    net_policy_value_fn,
    net_random_symmetries,
    net_train,
    net_gradients,
    net_optimiser_steps,
)
OF_THE_TRAINING = (train_start, train_games, train_play, train_steps)
