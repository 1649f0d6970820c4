"""Files with the convolutions of a network in 8-bit integers, beside the weights that they were made from.

`python -m training.quantise model/11_11_5.pt` writes model/11_11_5.pt.int8: a zip archive with the graph of the convolutions as
OpenVINO saves it (body.xml, body.bin), and about.json, which holds the SHA-256 of the weights. The dense layers come from the
weights. Nothing in such a file is executed.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.errors import UsageError
from common.files import replacing
from common.weights import MAX_WEIGHTS_BYTES

ABOUT, GRAPH, CONSTANTS = "about.json", "body.xml", "body.bin"


@dataclass(frozen=True)
class Int8Body:
    """The convolutions of a network in 8-bit integers, as OpenVINO saves them.

    Attributes:
        graph: the layers, as XML.
        constants: the numbers that the graph refers to.
        weights: the file of weights that they were made from.
    """

    graph: bytes
    constants: bytes
    weights: Path

    def refusal(self, expected: str, found: str) -> UsageError:
        """Return the error that says why the file beside these weights cannot be used, and what to do."""
        return _refusal(self.weights, expected, found)


def int8_path(weights: Path) -> Path:
    """Return where the file that belongs to a file of weights lies."""
    return weights.with_name(f"{weights.name}.int8")


def write_int8(weights: Path, graph: bytes, constants: bytes, about: dict[str, Any]) -> Path:
    """Write the file that belongs to a file of weights, completely or not at all, and return its path.

    Args:
        weights: the file of weights.
        graph, constants: as in Int8Body.
        about: what else to note about them, as plain values.
    """
    path = int8_path(weights)
    text = json.dumps({"weights": weights.name, "weights_sha256": _sha256(weights), **about}, indent=2) + "\n"
    with replacing(path) as unfinished, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in ((ABOUT, text), (GRAPH, graph), (CONSTANTS, constants)):
            file.writestr(name, content)
    return path


def read_int8(weights: Path) -> Int8Body | None:
    """Return the convolutions in the file that belongs to a file of weights, or None if there is no such file.

    Raises:
        UsageError: the file is damaged, or it was made from other weights.
    """
    path = int8_path(weights)
    if not path.exists():
        return None
    try:
        with zipfile.ZipFile(path) as file:
            if sum(member.file_size for member in file.infolist()) > MAX_WEIGHTS_BYTES:
                raise ValueError("too large")
            about, graph, constants = (file.read(name) for name in (ABOUT, GRAPH, CONSTANTS))
        made_from = json.loads(about)["weights_sha256"]
    except Exception as error:  # zipfile has no common class for the errors of a damaged file
        raise _refusal(weights, "convolutions in 8-bit integers", "it is damaged, too large or holds other data") from error
    if made_from != _sha256(weights):
        raise _refusal(weights, "the convolutions of these weights", "it was made from other weights")
    return Int8Body(graph, constants, weights)


def _refusal(weights: Path, expected: str, found: str) -> UsageError:
    return UsageError(
        f"expected {expected} in {int8_path(weights)}; {found}: make it again with python -m training.quantise {weights}, or "
        "remove it"
    )


def _sha256(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
