"""Fast evaluation of positions for search: a copy of the network for inference, a cache of positions, random symmetries.

All three are evaluators. Called with states [N, 9, H, W] float32 (the format of `Board.current_state`), they return the
probabilities of all moves [N, A] float32, not masked, and the values [N] float32 in [-1, 1], both for the side to move.
Evaluators can be stacked: a cache below random symmetries stores the positions as the network saw them.
"""

from __future__ import annotations

import copy
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from Board.symmetries import Symmetries
from training.samples import pack_states

StateEvaluator = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""states [N, 9, H, W] -> (probs [N, A], values [N]) for the side to move."""

# Each convolution of the heads and the batch norm after it, by their names in the weights, which every correct network uses.
HEADS = (("conv2d_2", "bn_1"), ("conv2d_3", "bn_2"))
DENSE = ("dense_layer_1", "dense_layer_2", "flatten_layer_3")
TIMED_CALLS = 3
# The largest change in a probability or value that folding may cause; rounding causes about 1e-6.
FOLDED_TOLERANCE = 1e-3


def fold_batch_norm(model: nn.Module) -> nn.Module:
    """Copy a model in eval mode and fold each batch norm into the convolution before it; the outputs stay the same.

    Args:
        model: a PolicyValueNetModel; the copy keeps its forward method, and only the layers that this calls are replaced.
    """
    folded = copy.deepcopy(model).eval()
    blocks = len(list(folded.get_submodule("resnet").children()))
    tower = [(f"resnet.{i}.{conv}", f"resnet.{i}.{conv + 1}") for i in range(blocks) for conv in (0, 3)]
    for conv, norm in (*tower, *HEADS):
        pair: list[Any] = [folded.get_submodule(name) for name in (conv, norm)]
        folded.set_submodule(conv, fuse_conv_bn_eval(*pair))
        folded.set_submodule(norm, nn.Identity())
    return folded


class InferenceNetwork:
    """A copy of a network for evaluation only: batch norm folded, channels last, optionally in bfloat16.

    The dense layers, a small part of the work, stay in float32: probabilities in bfloat16 would have steps of several per cent.

    Args:
        model: a PolicyValueNetModel; later changes to it do not affect this copy.
        board_width, board_height: the size of its board.
        dtype: the type of the convolutions: torch.float32, torch.bfloat16, or None for the faster one, timed at batch_size.
        device: where to compute; None for the GPU if there is one.
        batch_size: the expected number of states in a batch.

    Raises:
        ValueError: the copy's outputs differ from the network's, because the network has its layers in another order.

    Attributes:
        dtype, device: the ones in use.
        model: the copy; its input is the result of `to_input`.
        evaluations: the number of states evaluated so far.
    """

    def __init__(
        self,
        model: nn.Module,
        board_width: int,
        board_height: int,
        *,
        dtype: torch.dtype | None = torch.float32,
        device: str | None = None,
        batch_size: int = 64,
    ) -> None:
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.evaluations = 0
        self._folded = fold_batch_norm(model).to(self.device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        states = np.zeros((batch_size, 9, board_height, board_width), dtype=np.float32)
        self._check(copy.deepcopy(model).eval().to(self.device), states.shape[1:])
        if dtype is None:
            dtype = min((torch.float32, torch.bfloat16), key=lambda tried: self._seconds(tried, states))
        self._use(dtype)

    def _check(self, original: nn.Module, shape: tuple[int, ...]) -> None:
        """Check that the folded network has the same outputs as the original."""
        states = np.random.default_rng(0).integers(0, 2, (8, *shape)).astype(np.float32)
        self._use(torch.float32)
        with torch.inference_mode():
            outputs = [model(self.to_input(states)) for model in (original, self.model)]
        (log_probs, values), (folded_log_probs, folded_values) = outputs
        off = max((log_probs.exp() - folded_log_probs.exp()).abs().max().item(), (values - folded_values).abs().max().item())
        if off > FOLDED_TOLERANCE:
            raise ValueError(
                f"expected each batch norm right after its convolution, as in the published networks; folding it into that "
                f"convolution changes the network's outputs by {off:.2g}"
            )

    def _use(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.model = copy.deepcopy(self._folded).to(dtype)
        for name in DENSE:
            layer = self.model.get_submodule(name).float()
            layer.register_forward_pre_hook(lambda _, inputs: (inputs[0].float(),))

    def _seconds(self, dtype: torch.dtype, states: np.ndarray) -> float:
        """Return the shortest time of a few evaluations, in seconds."""
        self._use(dtype)
        times = []
        for _ in range(TIMED_CALLS + 1):  # the first call also prepares the computation
            start = time.perf_counter()
            self(states)
            times.append(time.perf_counter() - start)
        self.evaluations = 0
        return min(times)

    def to_input(self, states: np.ndarray) -> torch.Tensor:
        """Convert states to input for the copy."""
        return torch.from_numpy(states).to(self.device, self.dtype, memory_format=torch.channels_last)

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.evaluations += len(states)
        with torch.inference_mode():
            log_probs, values = self.model(self.to_input(states))
            return log_probs.float().exp().cpu().numpy(), values.float().reshape(-1).cpu().numpy()


class PositionCache:
    """An evaluator that remembers recent states and passes only unknown ones on to another evaluator.

    Args:
        evaluate: the other evaluator.
        capacity: the number of states to remember; the oldest is forgotten first.

    Attributes:
        requests: the number of states requested so far.
        hits: the number of those that were remembered.
    """

    def __init__(self, evaluate: StateEvaluator, capacity: int = 1 << 16) -> None:
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1 state; got {capacity}")
        self._evaluate = evaluate
        self._capacity = capacity
        self._known: OrderedDict[bytes, tuple[np.ndarray, np.float32]] = OrderedDict()
        self.requests = self.hits = 0

    def clear(self) -> None:
        """Forget all states; necessary when the network has changed."""
        self._known.clear()

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        packed = pack_states(states)
        size, text = packed.shape[1], packed.tobytes()
        keys = [text[at : at + size] for at in range(0, len(text), size)]
        # Evaluate an unknown state once even if it occurs several times, as happens while all games begin alike.
        unknown = {key: place for place, key in enumerate(keys) if key not in self._known}
        known = {key: self._known[key] for key in keys if key not in unknown}
        if unknown:
            probs, values = self._evaluate(np.ascontiguousarray(states[list(unknown.values())]))
            fresh = dict(zip(unknown, zip(probs, values, strict=True), strict=True))
            known |= fresh
            self._known.update(fresh)
            while len(self._known) > self._capacity:
                self._known.popitem(last=False)
        self.requests += len(keys)
        self.hits += len(keys) - len(unknown)
        return np.array([known[key][0] for key in keys]), np.array([known[key][1] for key in keys])


class RandomSymmetry:
    """An evaluator that applies a random symmetry of the board to each state, and undoes it in the move probabilities.

    Args:
        evaluate: the other evaluator.
        board_width, board_height: the size of the board.
        rng: draws the symmetries.
    """

    def __init__(self, evaluate: StateEvaluator, board_width: int, board_height: int, rng: np.random.Generator) -> None:
        self._evaluate = evaluate
        self._symmetries = Symmetries(board_width, board_height)
        self._rng = rng

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        which = self._rng.integers(self._symmetries.count, size=len(states))
        probs, values = self._evaluate(self._symmetries.turn_states(states, which))
        return self._symmetries.turn_policies_back(probs, which), values
