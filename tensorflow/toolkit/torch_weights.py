"""Read and write weights files of the torch network for the tools in this folder; torch is imported only here."""

from __future__ import annotations

import os

from tf_checkpoint import UsageError


def import_torch():
    """Import torch.

    Raises:
        UsageError: torch is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: python -m pip install -r requirements-convert.txt") from error
    return torch


def read_weights(path: str) -> dict:
    """Read a bare state_dict from a file.

    Raises:
        UsageError: the file is missing or holds something else.
    """
    if not os.path.isfile(path):
        raise UsageError(f"expected torch weights at {path}; nothing is there (convert_tf2torch.py makes them)")
    torch = import_torch()
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        readable = isinstance(state, dict) and all(isinstance(tensor, torch.Tensor) for tensor in state.values())
    except Exception:  # torch's unpickler raises exceptions of many classes for a file that is not a pickle
        readable = False
    if not readable:
        raise UsageError(f"expected a bare state_dict saved by torch in {path}; it holds something else")
    return state


def write_weights(state: dict, path: str) -> None:
    """Write a bare state_dict to a file; create its folder if it is missing and replace an existing file atomically.

    Raises:
        UsageError: the file cannot be written.
    """
    torch = import_torch()
    unfinished = f"{path}.part"
    try:
        if os.path.isdir(path):
            raise IsADirectoryError(f"{path} is a folder")
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(unfinished, "wb") as file:
            torch.save(state, file)
        os.replace(unfinished, path)
    except OSError as error:
        raise UsageError(f"expected OUT.pt to be a file that can be written: {error}") from error
