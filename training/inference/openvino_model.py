"""A network that OpenVINO computes on the CPU: convolutions in float32, bfloat16 or 8-bit integers, dense layers in float32.

OpenVINO is optional (`pip install openvino`). A network is traced and converted once; new weights of the same layers only
replace the constants of the converted graph, which is then compiled again, in a fraction of a second. Convolutions in 8-bit
integers belong to fixed weights: they come from a file (`int8_file`), or NNCF makes them of the present weights in a second or
two (`quantise`).
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from training.inference.int8_file import Int8Body

# Through this package, OpenVINO and NNCF report to their makers when they are imported and for each conversion, unless the user
# has refused; the reports run in processes of their own. If the package cannot be imported, nothing is reported.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
# Where convolutions are in 8-bit integers, this is the type of everything else.
HINTS = {torch.float32: "f32", torch.bfloat16: "bf16", torch.int8: "f32"}
LAYER = re.compile(r"__module\.(?P<layer>.+)/aten::(?:_convolution|linear)/(?:Convolution|MatMul|Add)")


def openvino_is_installed() -> bool:
    """Return whether OpenVINO can be imported."""
    return importlib.util.find_spec("openvino") is not None


class OpenVinoModel:
    """A model of torch on the CPU, with as many threads as torch has; `compile` it before calling it.

    Args:
        model: a network in eval mode that maps [N, P, H, W] float32 to two outputs, its convolutions before its dense layers.
        planes_shape: (P, H, W).

    Raises:
        ImportError: OpenVINO is not installed.
        ValueError: the model has no dense layers, or it has layers that cannot be found again in the graph.

    Attributes:
        body: the graph of the layers before the dense ones, in float32.
        int8: the same layers with convolutions in 8-bit integers; None if there are none.
    """

    def __init__(self, model: nn.Module, planes_shape: tuple[int, int, int]) -> None:
        import openvino
        from openvino import opset13 as opset

        self._core = openvino.Core()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of torch, about the way in which OpenVINO traces
            graph = openvino.convert_model(
                model.float().eval(), input=[(-1, *planes_shape)], example_input=torch.zeros((2, *planes_shape))
            )
        dense = [op for op in graph.get_ordered_ops() if op.get_type_name() == "MatMul"]
        if not dense:
            raise ValueError("expected a network with dense layers after its convolutions; got none")
        # Cut the graph before the first dense layers, so that the two parts can have different types.
        features, inputs = [], []
        for op in dense:
            source = op.input_value(0)
            if any(_follows(source.get_node(), other) for other in dense):
                continue
            parameter = opset.parameter(source.get_partial_shape(), np.float32)
            op.input(0).replace_source_output(parameter.output(0))
            features.append(source)
            inputs.append(parameter)
        self._heads = openvino.Model(graph.get_results(), inputs)
        self.body = openvino.Model([opset.result(source) for source in features], graph.get_parameters())
        self.int8: Any = None
        self._requests: tuple[Any, Any]

    def load(self, model: nn.Module) -> None:
        """Take the weights of a model with the same layers; `compile` puts them to use, in float32 or bfloat16.

        Raises:
            ValueError: a layer of the graph is not in the model, or has another size.
        """
        weights = {name: tensor.detach().cpu().float().numpy() for name, tensor in model.state_dict().items()}
        for part in (self.body, self._heads):
            _replace_constants(part, weights)

    def take_int8(self, int8: Int8Body) -> bool:
        """Take convolutions in 8-bit integers; `compile` puts them to use.

        Returns:
            Whether they fit. Those of other layers do not, nor do those of a pooled network from another board.

        Raises:
            UsageError: OpenVINO cannot read them.
        """
        try:
            graph = self._core.read_model(int8.graph, int8.constants)
        except RuntimeError as error:
            raise int8.refusal("a graph of OpenVINO", "this version of OpenVINO cannot read it") from error
        if _shapes(graph) != _shapes(self.body):
            return False
        self.int8 = graph
        return True

    def quantise(self, states: np.ndarray, *, bias_correction: bool = False) -> None:
        """Make convolutions in 8-bit integers of the present weights; `compile` puts them to use.

        Args:
            states: [N, P, H, W] float32, the positions in which the ranges of activations are measured, best the leaves of
                searches.
            bias_correction: whether NNCF corrects the mean error of each layer.

        Raises:
            ImportError: NNCF is not installed.
        """
        import nncf
        from nncf.quantization.range_estimator import RangeEstimatorParametersSet

        nncf.set_log_level(logging.ERROR)
        # By default NNCF takes means of the largest values, and cuts off the activations that threats cause.
        advanced = nncf.AdvancedQuantizationParameters(
            disable_bias_correction=not bias_correction,
            activations_range_estimator_params=RangeEstimatorParametersSet.MINMAX,
        )
        single = nncf.Dataset([states[index : index + 1] for index in range(len(states))])
        with contextlib.redirect_stdout(io.StringIO()):  # NNCF's own line of progress
            self.int8 = nncf.quantize(self.body, single, subset_size=len(states), advanced_parameters=advanced)

    def compile(self, dtype: torch.dtype) -> None:
        """Prepare the computation, with convolutions of this type: torch.float32, torch.bfloat16 or torch.int8.

        Raises:
            ValueError: there are no convolutions in 8-bit integers (`take_int8`, `quantise`).
        """
        body = self.int8 if dtype == torch.int8 else self.body
        if body is None:
            raise ValueError("expected convolutions in 8-bit integers; there are none yet")
        self._requests = self._request(body, HINTS[dtype]), self._request(self._heads, "f32")

    def _request(self, part: Any, hint: str) -> Any:
        settings: dict[str, Any] = {"INFERENCE_PRECISION_HINT": hint, "INFERENCE_NUM_THREADS": torch.get_num_threads()}
        # Pinned, each process that computes in one thread would choose the same core, whatever the others do.
        settings |= {"NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}
        return self._core.compile_model(part, "CPU", settings).create_infer_request()

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the model's two outputs for states [N, P, H, W] float32, as arrays of their own."""
        body, heads = self._requests
        body.infer([states], share_inputs=True)
        heads.infer([output.data for output in body.output_tensors], share_inputs=True)
        first, second = (output.data.copy() for output in heads.output_tensors)
        return first, second


def graph_bytes(graph: Any) -> tuple[bytes, bytes]:
    """Return a graph of OpenVINO as it is saved: (its layers as XML, its constants)."""
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph.xml"
        openvino.save_model(graph, path, compress_to_fp16=False)
        return path.read_bytes(), path.with_suffix(".bin").read_bytes()


def _shapes(graph: Any) -> list[str]:
    return [str(port.get_partial_shape()) for port in (*graph.inputs, *graph.outputs)]


def _follows(node: Any, earlier: Any) -> bool:
    """Return whether a node of the graph needs the output of an earlier one."""
    waiting, seen = [node], set[str]()
    while waiting:
        current = waiting.pop()
        if current.get_friendly_name() == earlier.get_friendly_name():
            return True
        if current.get_friendly_name() not in seen:
            seen.add(current.get_friendly_name())
            waiting += [value.get_node() for value in current.input_values()]
    return False


def _replace_constants(part: Any, weights: dict[str, np.ndarray]) -> None:
    from openvino import opset13 as opset

    for op in part.get_ordered_ops():
        found = LAYER.fullmatch(op.get_friendly_name())
        if found is None:
            continue
        name = f"{found['layer']}.{'bias' if op.get_type_name() == 'Add' else 'weight'}"
        constants = [each for each in op.inputs() if each.get_source_output().get_node().get_type_name() == "Constant"]
        if len(constants) != 1 or name not in weights or weights[name].size != np.prod(constants[0].get_shape()):
            raise ValueError(f"expected {name} as a constant of the graph and in the weights")
        shape = list(constants[0].get_shape())
        constants[0].replace_source_output(opset.constant(weights[name].reshape(shape)).output(0))
