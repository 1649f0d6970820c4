"""What it takes to compute convolutions in 8-bit integers: NNCF, and outputs that stay near those in float32.

NNCF (`python -m pip install nncf`) quantises convolutions after training (Jacob et al. 2018, sections 2.1 and 3: affine
quantisation with a range for each activation). The conversion itself is `OpenVinoModel.quantise`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from common.errors import UsageError

LEAST_SAME_FIRST, LARGEST_VALUE_OFF = 0.9, 0.1


@dataclass(frozen=True)
class Differences:
    """How far an evaluator is from the right probabilities and values.

    Attributes:
        divergence: the mean Kullback-Leibler divergence of the policy, in nats.
        same_first: the share of positions in which the most probable move is the same.
        value_off: the root mean square difference of the values.
    """

    divergence: float
    same_first: float
    value_off: float

    @property
    def small(self) -> bool:
        """Whether the evaluator may stand in for the right one."""
        return self.same_first >= LEAST_SAME_FIRST and self.value_off <= LARGEST_VALUE_OFF

    def __str__(self) -> str:
        return (
            f"the policy diverges by {self.divergence:.4f}, the first choice is the same in {100 * self.same_first:.1f} %, and "
            f"the values are off by {self.value_off:.3f}"
        )


def measure_differences(
    evaluate: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], right: tuple[np.ndarray, np.ndarray], states: np.ndarray
) -> Differences:
    """Compare an evaluator with the right probabilities [N, A] and values [N] of states [N, P, H, W]."""
    (probs, values), (right_probs, right_values) = evaluate(states), right
    divergence = (right_probs * np.log((right_probs + 1e-9) / (probs + 1e-9))).sum(axis=1).mean()
    return Differences(
        round(float(divergence), 5),
        round(float((probs.argmax(axis=1) == right_probs.argmax(axis=1)).mean()), 4),
        round(float(np.sqrt(((values - right_values) ** 2).mean())), 4),
    )


def expect_nncf() -> None:
    """Refuse to go on without OpenVINO and NNCF.

    Raises:
        UsageError: one of them is not installed.
    """
    if missing := [name for name in ("openvino", "nncf") if importlib.util.find_spec(name) is None]:
        names = " and ".join(missing)
        raise UsageError(f"expected openvino and nncf; {names} missing: python -m pip install {' '.join(missing)}")
