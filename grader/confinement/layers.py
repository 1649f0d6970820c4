"""What each layer of a student's network gives, for the message about the first layer that differs from the handout's.

It is loaded beside `grader.confinement.worker` inside the sandbox.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

MAX_LAYERS = 200


def summary(output: Any) -> tuple[float, float, float]:
    """Return the mean and the standard deviation of a tensor's numbers, and a number that depends on their order.

    The last one tells a layer's output from the same output turned round or mirrored. It is a sum with weights of either sign,
    scaled so that it is about as large as the numbers themselves.
    """
    values = output.detach().double().cpu().numpy().reshape(-1)
    order = float(values @ np.cos(np.arange(values.size))) / math.sqrt(values.size)
    return float(values.mean()), float(values.std()), order


def layer_outputs(torch: Any, model: Any, states: np.ndarray) -> list[list[Any]]:
    """Run `forward` in eval mode and return [name, shape, *summary] of each named layer, in order of use.

    If `forward` fails, the layers before the failure are returned.

    Args:
        torch: the library, as the worker has loaded it.
        model: a module, which is left in eval mode.
        states: [N, 9, H, W] float32.
    """
    seen: list[list[Any]] = []

    def note(name: str) -> Any:
        def hook(module: Any, arguments: Any, output: Any) -> None:
            if not isinstance(output, torch.Tensor) or len(seen) == MAX_LAYERS:
                return
            if output.numel() and output.isfinite().all():
                seen.append([name, [int(size) for size in output.shape], *summary(output)])

        return hook

    hooks = [module.register_forward_hook(note(name)) for name, module in model.named_modules() if name]
    try:
        model.eval()
        with torch.no_grad():
            model(torch.as_tensor(states).to(next(model.parameters()).dtype))
    except Exception:  # whatever the student's forward raises, which a check has reported already
        pass
    finally:
        for hook in hooks:
            hook.remove()
    return seen
