"""Code shared by a worker and its client: plain values as JSON, and an evaluator that both sides can compute.

numpy arrays are sent as `{"__array__": [dtype, shape, base64]}`. This module imports only the standard library and numpy, since
it also runs in the sandbox.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

MAX_DIMENSION = 2**31
# The dtypes of arrays that may be sent, in either byte order, by the names that they have on this machine.
DTYPES = {str(dtype): dtype for code in "?bhilqBHILQefd" for dtype in (np.dtype(code), np.dtype(code).newbyteorder())}


def encode(value: Any) -> Any:
    """Turn numpy arrays and scalars, tuples and dict keys into JSON values.

    Raises:
        ValueError: an array does not hold numbers.
    """
    if isinstance(value, np.ndarray):
        if str(value.dtype) not in DTYPES:
            raise ValueError(f"expected numbers, got an array of {value.dtype}")
        return {"__array__": [str(value.dtype), list(value.shape), base64.b64encode(value.tobytes()).decode("ascii")]}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item) for item in value]
    return value


def decode(value: Any) -> Any:
    """Invert `encode`, for dicts with string keys.

    Raises:
        ValueError: an array's bytes do not fit its shape, or its dtype is not one of plain numbers.
    """
    if isinstance(value, dict):
        if set(value) == {"__array__"}:
            return _decode_array(value["__array__"])
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    return value


def _decode_array(parts: Any) -> np.ndarray:
    """Return the array; raise ValueError unless its parts fit together, since a student may have written them."""
    if not isinstance(parts, list) or [type(part) for part in parts] != [str, list, str]:
        raise ValueError("expected an array given by its dtype, shape and bytes")
    name, shape, data = parts
    if name not in DTYPES:
        raise ValueError(f"expected numbers, got an array of {name[:50]}")
    if not all(type(size) is int and 0 <= size < MAX_DIMENSION for size in shape):
        raise ValueError("expected a shape of non-negative integers")
    dtype, content = DTYPES[name], base64.b64decode(data, validate=True)
    if len(content) != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"expected an array of shape {tuple(shape)}; got {len(content)} bytes")
    return np.frombuffer(content, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="))


def have_same_layers(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> bool:
    """Return whether two sets of weights have the same keys and shapes."""
    return {key: w.shape for key, w in first.items()} == {key: w.shape for key, w in second.items()}


def in_words(value: Any) -> str:
    """Return what a value is, for a message about a function that was given or has returned something unexpected."""
    if value is None:
        return "None"
    return f"a tuple of {len(value)}" if type(value) is tuple else f"a value of type {type(value).__name__}"


def number(value: Any) -> float:
    """Return a visit count, value, prior or loss as a float; it may be stored as a number or as an array with one entry."""
    try:
        if isinstance(value, int | float | np.integer | np.floating):
            return float(value)  # the usual case, for each node of a tree
        if hasattr(value, "detach"):
            value = value.detach()  # numpy takes no tensor that has a gradient
        return float(np.asarray(value, dtype=float).reshape(-1)[0]) if np.size(value) else float("nan")
    except OverflowError:
        raise ValueError("expected a visit count, value or prior; got an integer too large for a float") from None


def whole(value: Any) -> int:
    """Return a move as an integer; raise ValueError for anything else, and for a number too large for a move on any board."""
    try:
        move = int(value)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"expected a move, which is one integer; got {str(value)[:50]}") from None
    if abs(move) >= MAX_DIMENSION:
        raise ValueError(f"expected a move; got a number of {move.bit_length()} bits")
    return move


def hash_priors_and_value(stones: Sequence[tuple[int, int]], side: int, legal: Sequence[int], seed: int) -> Any:
    """Evaluate a position by a hash that no search can predict.

    Both results depend only on the stones (move, player), the side to move and the seed. Both sides of the pipe use this. An
    entry with player 0 is no stone.

    Returns:
        Priors [len(legal)] that sum to 1, and a value in [-0.9, 0.9).
    """
    plain = sorted((int(move), int(player)) for move, player in stones if player)  # a board may hold numpy's integers
    text = f"{seed}:{int(side)}:{plain}".encode()
    numbers = np.frombuffer(hashlib.shake_128(text).digest(4 * (len(legal) + 1)), dtype=np.uint32) / 2.0**32
    weights = np.exp(2.0 * numbers[1:])
    return weights / weights.sum(), float(1.8 * numbers[0] - 0.9)
