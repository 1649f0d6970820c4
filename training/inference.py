"""The network made fast for search: a copy for inference, a cache of positions, random symmetries.

All three are evaluators: called with states [N, 9, H, W] float32 (as `Board.current_state` gives them) they return the
probabilities of all moves [N, A] float32, not masked, and the values [N] float32 in [-1, 1], both for the side to move.
They can be put on top of each other: a cache below random symmetries holds each position by the picture that the network saw.
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

StateEvaluator = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""states [N, 9, H, W] -> (probs [N, A], values [N]) for the side to move."""

# Each convolution and the batch norm that follows it, by the names that the weights have (and thus every right network).
HEADS = (("conv2d_2", "bn_1"), ("conv2d_3", "bn_2"))
DENSE = ("dense_layer_1", "dense_layer_2", "flatten_layer_3")
TIMED_CALLS = 3
# The largest difference of a probability or value that folding may make; rounding makes about 1e-6.
FOLDED_TOLERANCE = 1e-3


def fold_batch_norm(model: nn.Module) -> nn.Module:
    """A copy in eval mode whose batch norms are part of the convolutions before them; its outputs are the same.

    Args:
        model: a PolicyValueNetModel; its own forward is kept, only the layers that it calls are replaced.
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
    """A network for evaluation alone: batch norm folded, channels last, in bfloat16 where that is faster.

    The dense layers, a small part of the work, stay in float32: a policy in bfloat16 has steps of several per cent.

    Args:
        model: a PolicyValueNetModel; later changes of it do not reach this copy.
        board_width, board_height: of its board.
        dtype: of the convolutions: torch.float32, torch.bfloat16, or None for the faster one, timed at batch_size.
        device: where to compute; None is the GPU if there is one.
        batch_size: the number of states that are to be expected at once.

    Raises:
        ValueError: the copy says something else than the network, whose layers then do not follow each other as they should.

    Attributes:
        dtype, device: what was chosen.
        model: the copy; it takes what `to_input` gives.
        evaluations: states evaluated so far.
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
        """See that the folded network is still the network."""
        states = np.random.default_rng(0).integers(0, 2, (8, *shape)).astype(np.float32)
        self._use(torch.float32)
        with torch.inference_mode():
            outputs = [model(self.to_input(states)) for model in (original, self.model)]
        (log_probs, values), (folded_log_probs, folded_values) = outputs
        off = max((log_probs.exp() - folded_log_probs.exp()).abs().max().item(), (values - folded_values).abs().max().item())
        if off > FOLDED_TOLERANCE:
            raise ValueError(
                f"expected each batch norm right after its convolution, as in the published networks; with it folded into that "
                f"convolution the network's outputs differ by {off:.2g}"
            )

    def _use(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        self.model = copy.deepcopy(self._folded).to(dtype)
        for name in DENSE:
            layer = self.model.get_submodule(name).float()
            layer.register_forward_pre_hook(lambda _, inputs: (inputs[0].float(),))

    def _seconds(self, dtype: torch.dtype, states: np.ndarray) -> float:
        """The shortest time of a few evaluations."""
        self._use(dtype)
        times = []
        for _ in range(TIMED_CALLS + 1):  # the first one also prepares
            start = time.perf_counter()
            self(states)
            times.append(time.perf_counter() - start)
        self.evaluations = 0
        return min(times)

    def to_input(self, states: np.ndarray) -> torch.Tensor:
        """States as the copy takes them."""
        return torch.from_numpy(states).to(self.device, self.dtype, memory_format=torch.channels_last)

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.evaluations += len(states)
        with torch.inference_mode():
            log_probs, values = self.model(self.to_input(states))
            return log_probs.float().exp().cpu().numpy(), values.float().reshape(-1).cpu().numpy()


class PositionCache:
    """An evaluator that asks another one only for states that are not among the latest it was asked for.

    Args:
        evaluate: the evaluator behind it.
        capacity: states that are remembered; the oldest is forgotten first.

    Attributes:
        asked, found: states that it was asked for, and how many of them needed no evaluation.
    """

    def __init__(self, evaluate: StateEvaluator, capacity: int = 1 << 16) -> None:
        if capacity < 1:
            raise ValueError(f"expected a capacity of at least 1 state; got {capacity}")
        self._evaluate = evaluate
        self._capacity = capacity
        self._known: OrderedDict[bytes, tuple[np.ndarray, np.float32]] = OrderedDict()
        self.asked = self.found = 0

    def clear(self) -> None:
        """Forget everything, as when the network behind it has changed."""
        self._known.clear()

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        packed = np.packbits(states.reshape(len(states), -1) != 0, axis=1)
        size, text = packed.shape[1], packed.tobytes()
        keys = [text[at : at + size] for at in range(0, len(text), size)]
        # Each unknown state once, although it may stand here several times: all games begin alike.
        unknown = {key: place for place, key in enumerate(keys) if key not in self._known}
        answers = {key: self._known[key] for key in keys if key not in unknown}
        if unknown:
            probs, values = self._evaluate(np.ascontiguousarray(states[list(unknown.values())]))
            fresh = dict(zip(unknown, zip(probs, values, strict=True), strict=True))
            answers |= fresh
            self._known.update(fresh)
            while len(self._known) > self._capacity:
                self._known.popitem(last=False)
        self.asked += len(keys)
        self.found += len(keys) - len(unknown)
        return np.array([answers[key][0] for key in keys]), np.array([answers[key][1] for key in keys])


class RandomSymmetry:
    """An evaluator that shows each state to another one through a random symmetry of the board, undone on the moves.

    Args:
        evaluate: the evaluator behind it.
        board_width, board_height: of the board.
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
