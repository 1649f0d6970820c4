"""Fast evaluation of positions for search: a copy of the network for inference, a cache of positions, random symmetries.

All three are evaluators. Called with states [N, P, H, W] float32, the P feature planes of a game, they return the probabilities
of all moves [N, A] float32, not masked, and the values [N] float32 in [-1, 1], both for the side to move. Evaluators can be
stacked: a cache below random symmetries stores the positions as the network saw them.
"""

from __future__ import annotations

import copy
import math
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol, cast

import numpy as np
import torch
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from common.errors import UsageError
from games.protocol import PositionBatch, Symmetry
from training.inference.int8_conversion import measure_differences
from training.inference.int8_file import Int8Body, int8_path, read_int8
from training.inference.openvino_model import OpenVinoModel, openvino_is_installed
from training.inference.timing import computing_clock, shortest_time
from training.samples import pack_states

StateEvaluator = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""states [N, P, H, W] -> (probs [N, A], values [N]) for the side to move."""


class PositionEvaluator(Protocol):
    """An evaluator that needs more of a position than its feature planes show."""

    def of_positions(self, positions: PositionBatch) -> tuple[np.ndarray, np.ndarray]:
        """Return (probs [N, A], values [N]) for the side to move; no game is over."""


Evaluator = StateEvaluator | PositionEvaluator


def evaluate_positions(evaluator: Evaluator, positions: PositionBatch) -> tuple[np.ndarray, np.ndarray]:
    """Evaluate N positions with an evaluator of either kind."""
    of_positions = getattr(evaluator, "of_positions", None)  # isinstance of a protocol takes 20 microseconds
    if of_positions is not None:
        return of_positions(positions)
    return cast(StateEvaluator, evaluator)(positions.feature_planes())


# Each convolution of the heads and the batch norm after it, by their names in the weights, which every correct network uses.
HEADS = (("conv2d_2", "bn_1"), ("conv2d_3", "bn_2"))
DENSE = ("dense_layer_1", "dense_layer_2", "flatten_layer_3")
Library = Literal["torch", "openvino"]
Backend = Literal["auto", "torch", "openvino"]
"""A library, or "auto" for the fastest, as command lines and settings have it."""
PlayerBackend = Literal["auto", "torch", "openvino", "int8"]
"""The same for networks that play; "int8" is OpenVINO with convolutions in 8-bit integers (`int8_file`, `OpenVinoModel`)."""
DTYPES = (torch.float32, torch.bfloat16)
# The largest change in a probability or value that rounding may cause; in trained networks, bfloat16 causes up to 0.04.
ROUNDING_TOLERANCE = 0.25
# The largest change in a probability or value that folding may cause; rounding causes about 1e-6.
FOLDED_TOLERANCE = 1e-3


def library_of(backend: PlayerBackend, device: str | None = None) -> Library | None:
    """Return the library of a backend; None for "auto".

    Args:
        backend: the backend.
        device: where the network is to be computed, if a person said so.

    Raises:
        UsageError: OpenVINO is not installed, or is to compute on a GPU.
    """
    if backend == "auto":
        return None
    if backend == "torch":
        return "torch"
    if device == "cuda":
        raise UsageError("expected the backend torch or auto on the device cuda, since OpenVINO computes on the CPU")
    if not openvino_is_installed():
        raise UsageError(
            f"expected OpenVINO for the backend {backend}; it is not installed: python -m pip install openvino, or leave the "
            "choice to auto"
        )
    return "openvino"


def fold(model: nn.Module) -> nn.Module:
    """Copy a model in eval mode with fewer layers and the same outputs.

    Each batch norm is folded into the convolution before it. Residual blocks that add nothing are left out: a network that
    was trained with fewer blocks than the handout's is filled up with such blocks (`training.export`).

    Args:
        model: a PolicyValueNetModel; the copy keeps its forward method, and only the layers that this calls are replaced.
    """
    folded = copy.deepcopy(model).eval()
    blocks = len(list(folded.get_submodule("resnet").children()))
    tower = [(f"resnet.{i}.{conv}", f"resnet.{i}.{conv + 1}") for i in range(blocks) for conv in (0, 3)]
    for conv, norm in (*tower, *HEADS):
        pair: list[Any] = [folded.get_submodule(name) for name in (conv, norm)]
        if isinstance(pair[1], nn.Identity):  # a network without batch norm
            continue
        folded.set_submodule(conv, fuse_conv_bn_eval(*pair))
        folded.set_submodule(norm, nn.Identity())
    for i in range(blocks):
        last: Any = folded.get_submodule(f"resnet.{i}.3")
        if not last.weight.any() and not last.bias.any():
            folded.set_submodule(f"resnet.{i}.0", nn.Identity())
            folded.set_submodule(f"resnet.{i}.3", Nothing())
    return folded


class Nothing(nn.Module):
    """What a residual block adds whose convolutions are left out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.zeros_like(x)


class InferenceNetwork:
    """A copy of a network for evaluation only: folded (`fold`), computed by torch (channels last) or by OpenVINO.

    The convolutions are computed in float32, in bfloat16, or by OpenVINO in 8-bit integers. The dense layers, a small part of
    the work, stay in float32: probabilities in bfloat16 would have steps of several per cent.

    Args:
        model: a PolicyValueNetModel; later changes to it do not affect this copy.
        board_width, board_height: the size of its board.
        dtype: the type of the convolutions: torch.float32, torch.bfloat16, torch.int8 (with the library "openvino"), or None
            for the fastest, timed at batch_size.
        library: "torch", "openvino" (on the CPU), or None for the faster one of those installed.
        device: where torch computes; None for the GPU if there is one.
        batch_size: the expected number of states in a batch.
        int8: the convolutions in 8-bit integers; without them, the other types are available.

    Raises:
        ValueError: the copy's outputs differ from the network's, because the network has its layers in another order, or
            because this processor cannot compute it in the way asked for; or there are no convolutions of this type.
        UsageError: int8 cannot be read, or it is to be used and does not fit this network and board.
        ImportError: OpenVINO was asked for and is not installed.

    Attributes:
        dtype, library, device: the ones in use.
        evaluations: the number of states evaluated so far.
    """

    def __init__(
        self,
        model: nn.Module,
        board_width: int,
        board_height: int,
        *,
        dtype: torch.dtype | None = torch.float32,
        library: Library | None = "torch",
        device: str | None = None,
        batch_size: int = 64,
        int8: Int8Body | None = None,
    ) -> None:
        if dtype == torch.int8 and (int8 is None or library != "openvino"):
            raise ValueError("expected convolutions in 8-bit integers, and the library openvino, for the type torch.int8")
        on_gpu = torch.cuda.is_available() and library != "openvino"
        self.device = torch.device(device or ("cuda" if on_gpu else "cpu"))
        self.evaluations = 0
        first: Any = model.get_submodule("conv2d_1")  # by name, since a student may define the layers in any order
        self._shape = (first.in_channels, board_height, board_width)
        self._openvino: OpenVinoModel | None = None
        self._model: nn.Module | None = None
        self._asked = library, dtype
        self._timed = np.zeros((batch_size, *self._shape), dtype=np.float32)
        self._take(model)
        self._choose(int8)

    def load(self, model: nn.Module, leaves: np.ndarray | None = None) -> None:
        """Use the weights of a network with the same layers from now on.

        It is computed in the same way as before, unless residual blocks that added nothing have learnt: then the network
        does more work than the one that was timed, and the way is chosen again.

        Args:
            model: the network.
            leaves: [N, P, H, W] float32, positions that searches evaluated lately. With them, the convolutions are computed by
                OpenVINO in 8-bit integers, unless the outputs in these positions are too far from those in float32.

        Raises:
            ValueError: see the class; or the network is computed in 8-bit integers, which belong to the weights that it has,
                and there are no leaves.
        """
        if self.dtype == torch.int8 and leaves is None:
            raise ValueError("expected a network in float32 or bfloat16 to load other weights into; this one is in int8")
        layers = self._folded.state_dict().keys()
        weights = self._take(model)
        if weights.keys() != layers:
            self._choose()
        elif self._model is not None:
            self._model.load_state_dict(weights)
        else:
            assert self._openvino is not None
            self._openvino.load(self._folded)
            if leaves is None:
                self._use(self.library, self.dtype)
        if leaves is not None:
            self._quantise(leaves)

    def _quantise(self, leaves: np.ndarray) -> None:
        """Compute the present weights in 8-bit integers if the outputs in these positions are near those in float32."""
        assert self._openvino is not None, "expected OpenVINO for convolutions in 8-bit integers"
        self._openvino.quantise(leaves)
        with torch.inference_mode():
            log_probs, values = self._folded(self._to_input(leaves, torch.float32))
        right = log_probs.exp().cpu().numpy(), values.reshape(-1).cpu().numpy()
        self._use("openvino", torch.int8)
        evaluations = self.evaluations
        if not measure_differences(self, right, leaves).small:
            self._use(*self._exact)
        self.evaluations = evaluations

    def _choose(self, int8: Int8Body | None = None) -> None:
        """Compute the network in the fastest way of those asked for."""
        library, dtype = self._asked
        choices = [(each, tried) for each in self._libraries(library) for tried in ((dtype,) if dtype else DTYPES)]
        if int8 is not None and self._openvino is not None:
            fits = self._openvino.take_int8(int8)
            if dtype == torch.int8 and not fits:
                raise int8.refusal("the convolutions of this network on this board", "those in it have other inputs or outputs")
            if dtype is None and fits:
                choices.append(("openvino", torch.int8))
        evaluations = self.evaluations
        fastest = self._fastest(choices)
        self.evaluations = evaluations  # without those that were timed
        self._exact = fastest
        if fastest != (self.library, self.dtype):
            self._use(*fastest)
        if self.library == "torch":
            self._openvino = None

    def _take(self, model: nn.Module) -> dict[str, torch.Tensor]:
        """Fold a copy of the network, check that it has the same outputs, and return its weights."""
        original = copy.deepcopy(model).eval().to(self.device)
        self._folded = fold(original).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._check(original)
        return self._folded.state_dict()

    def _libraries(self, asked: Library | None) -> list[Library]:
        """Return the libraries that can compute the network, of the one asked for or of all."""
        if asked == "openvino" or (asked is None and self.device.type == "cpu" and openvino_is_installed()):
            try:
                self._openvino = OpenVinoModel(self._folded, self._shape)
            except Exception:  # the converter has no common class of errors for networks that it cannot convert
                if asked is not None:
                    raise
        if asked is None:
            return ["torch", "openvino"] if self._openvino is not None else ["torch"]
        return [asked]

    def _check(self, original: nn.Module) -> None:
        """Check that the folded network has the same outputs as the original."""
        states = np.random.default_rng(0).integers(0, 2, (8, *self._shape)).astype(np.float32)
        with torch.inference_mode():
            inputs = self._to_input(states, torch.float32)
            (log_probs, values), (folded_log_probs, folded_values) = original(inputs), self._folded(inputs)
        self._known = states, log_probs.exp().cpu().numpy(), values.reshape(-1).cpu().numpy()
        off = max((log_probs.exp() - folded_log_probs.exp()).abs().max().item(), (values - folded_values).abs().max().item())
        if off > FOLDED_TOLERANCE:
            raise ValueError(
                f"expected each batch norm right after its convolution, as in the published networks; folding it into that "
                f"convolution changes the network's outputs by {off:.2g}"
            )

    def _in_torch(self, dtype: torch.dtype) -> nn.Module:
        model = copy.deepcopy(self._folded).to(dtype)
        for name in DENSE:
            layer = model.get_submodule(name).float()
            layer.register_forward_pre_hook(lambda _, inputs: (inputs[0].float(),))
        return model

    def _use(self, library: Library, dtype: torch.dtype) -> None:
        self.library, self.dtype = library, dtype
        self._model = self._in_torch(dtype) if library == "torch" else None
        if library == "openvino":
            assert self._openvino is not None
            self._openvino.compile(dtype)

    def _fastest(self, choices: list[tuple[Library, torch.dtype]]) -> tuple[Library, torch.dtype]:
        """Return the way to compute a batch that takes the shortest time, among those with the right results."""
        seconds: dict[tuple[Library, torch.dtype], float] = {}
        for choice in choices:
            self._use(*choice)
            if self._is_right():
                shortest = min(seconds.values(), default=math.inf)
                seconds[choice] = self._seconds(self._timed, shortest) if len(choices) > 1 else 0.0
        if not seconds:
            raise ValueError(
                f"expected from {self.description} what torch computes in float32; on this processor, the results are others"
            )
        return min(seconds, key=lambda choice: seconds[choice])

    def _is_right(self) -> bool:
        """Return whether the network, as it is computed now, has the outputs that torch computes in float32.

        Kernels for types that a processor lacks have been seen to return nothing, and that very fast. How far 8-bit integers
        may be off is decided when they are made (`training.quantise`).
        """
        states, *expected = self._known
        tolerance = math.inf if self.dtype == torch.int8 else ROUNDING_TOLERANCE
        return all(
            got.shape == known.shape and bool((np.abs(got - known) < tolerance).all())
            for got, known in zip(self(states), expected, strict=True)
        )

    def _seconds(self, states: np.ndarray, shortest: float) -> float:
        """Time the evaluation of these states; `shortest` is the time of another way (training.inference.timing)."""
        return shortest_time(lambda: self(states), computing_clock(self.device), shortest)

    def _to_input(self, states: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
        return torch.from_numpy(states).to(self.device, dtype, memory_format=torch.channels_last)

    @property
    def description(self) -> str:
        """How the network is computed, such as `openvino, bfloat16 on cpu`."""
        return f"{self.library}, {str(self.dtype).removeprefix('torch.')} on {self.device}"

    def forward_call(self, states: np.ndarray) -> Callable[[], None]:
        """Return a function that evaluates these states and does nothing else, to measure the limit of all searches."""
        if self._model is None:
            computed = self._openvino
            assert computed is not None

            def forward_by_openvino() -> None:
                computed(states)

            return forward_by_openvino
        model, inputs = self._model, self._to_input(states, self.dtype)

        def forward() -> None:
            with torch.inference_mode():
                model(inputs)[1][0].item()  # a GPU computes asynchronously until a result is read

        return forward

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.evaluations += len(states)
        if self._model is None:
            assert self._openvino is not None
            logarithms, results = self._openvino(states)
            return np.exp(logarithms), results.reshape(-1)
        with torch.inference_mode():
            log_probs, values = self._model(self._to_input(states, self.dtype))
            return log_probs.float().exp().cpu().numpy(), values.float().reshape(-1).cpu().numpy()


def network_to_play(
    model: nn.Module,
    board_width: int,
    board_height: int,
    weights: Path,
    *,
    backend: PlayerBackend = "auto",
    device: str | None = None,
    batch_size: int = 64,
) -> InferenceNetwork:
    """Make a copy of a network that keeps the weights of a file, in the fastest way or by one backend.

    If convolutions in 8-bit integers lie beside the weights, "auto" times them like the other types.

    Args:
        model, board_width, board_height, device, batch_size: see InferenceNetwork.
        weights: the file that the model's weights come from.
        backend: what computes the network.

    Raises:
        UsageError: the backend is not available, or what lies beside the weights does not belong to them.
        ValueError, ImportError: see InferenceNetwork.
    """
    library = library_of(backend, device)
    dtype = torch.int8 if backend == "int8" else None
    on_cpu = device == "cpu" or (device is None and not torch.cuda.is_available())
    timed = backend == "auto" and on_cpu and openvino_is_installed()
    int8 = read_int8(weights) if dtype or timed else None
    if dtype and int8 is None:
        raise UsageError(
            f"expected {int8_path(weights)} for the backend int8; no file is there: make it with python -m training.quantise "
            f"{weights}"
        )
    return InferenceNetwork(
        model, board_width, board_height, dtype=dtype, library=library, device=device, batch_size=batch_size, int8=int8
    )


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
        symmetries: the symmetries of the game.
        rng: draws the symmetries.
    """

    def __init__(self, evaluate: StateEvaluator, symmetries: Symmetry, rng: np.random.Generator) -> None:
        self._evaluate = evaluate
        self._symmetries = symmetries
        self._rng = rng

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        which = self._rng.integers(self._symmetries.count, size=len(states))
        probs, values = self._evaluate(self._symmetries.turn_states(states, which))
        return self._symmetries.turn_policies_back(probs, which), values
