"""Plain values survive the exchange with a worker as they were; anything else is refused."""

import json
import math

import numpy as np
import pytest

from grader.confinement.plain import decode, encode


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.float32).reshape(2, 3).T,
        np.array([np.nan, np.inf, -0.0]),
        np.array([[True, False]]),
        np.array(7, dtype=np.int64),
        np.zeros((0, 3), np.uint8),
        np.arange(3, dtype=">i4"),
    ],
    ids=["transposed", "not finite", "bool", "no dimension", "empty", "big endian"],
)
def test_an_array_survives_the_exchange_bit_for_bit(array):
    """In the machine's byte order afterwards."""
    seen = decode(json.loads(json.dumps(encode({"a": [array]}))))["a"][0]
    array = array.astype(array.dtype.newbyteorder("="))
    assert (seen.dtype, seen.shape, seen.tobytes()) == (array.dtype, array.shape, array.tobytes())
    seen[...] = 0  # its own memory, which may be written


def test_an_array_of_objects_is_not_sent():
    with pytest.raises(ValueError, match="expected numbers, got an array of object"):
        encode({"a": np.array([None])})


def test_scalars_tuples_and_keys_become_plain_values():
    value = {1: (np.float32(0.5), np.int64(3), np.bool_(True)), "text": "ä", "none": None, "nan": float("nan")}
    seen = decode(json.loads(json.dumps(encode(value))))
    assert math.isnan(seen.pop("nan")) and seen == {"1": [0.5, 3, True], "text": "ä", "none": None}


@pytest.mark.parametrize("dtype", ["O", "S4", "U1", "M8[s]", "V8", "f4,f4"])
def test_an_array_of_anything_but_numbers_is_refused(dtype):
    with pytest.raises(ValueError, match="expected numbers, got an array of"):
        decode({"__array__": [dtype, [1], "AAAAAAAAAAA="]})
