"""How a check calls the submission through `labs.muzero.given.probe`, and how numbers are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from labs.support.boards import Values
from labs.support.cases import Case

PROBE = "labs.muzero.given.probe"
RELATIVE, ABSOLUTE = 1e-3, 1e-4  # far above float32's rounding in these small networks


def probed(worker: Worker, name: str, watch: Sequence[str], *, limit_s: float | None = None, **arguments: Any) -> Values:
    """Make one object of the probe in the worker and return what it keeps under these names."""
    position = {"board": f"{PROBE}.{name}", "arguments": arguments, "moves": []}
    (reply,) = worker.call("follow", limit_s=limit_s, position=position, lines=[[]], watch=list(watch))
    (values,) = reply["seen"]
    return dict(values)


def part_of(case: Case, beginning: str) -> dict[str, np.ndarray]:
    """Return the arrays of a case whose names begin with a word, by the rest of their names."""
    return {name.removeprefix(f"{beginning} "): array for name, array in case.items() if name.startswith(f"{beginning} ")}


def model_in(case: Case) -> dict[str, Any]:
    """Return the sizes and the weights of a case's model, as the probe takes them."""
    return {"sizes": case["sizes"].tolist(), "weights": part_of(case, "weight")}


def close(got: np.ndarray, right: np.ndarray, *, scale: float = 1.0) -> bool:
    """Return whether numbers agree but for rounding; `scale`: the size of what they are differences or sums of."""
    return got.shape == right.shape and bool(np.allclose(got, right, rtol=RELATIVE, atol=ABSOLUTE * scale))


def expect_numbers(values: Values, name: str, shape: Sequence[int], what: str) -> np.ndarray:
    """Return the numbers under a name; raise StudentFault unless they have this shape and are finite."""
    got = values[name]
    if got.shape != tuple(shape):
        raise StudentFault(f"{what} must have the shape {tuple(shape)}; got {got.shape}.")
    if not np.isfinite(got).all():
        raise StudentFault(f"{what} must be finite; got {got[~np.isfinite(got)][0]}.")
    return got


def shown(numbers: np.ndarray) -> str:
    """Return a few numbers as text, with three digits."""
    return f"[{', '.join(f'{number:.3g}' for number in np.reshape(numbers, -1)[:10])}]"
