"""Weights files of the torch network, read and written for the tools beside; torch is imported only here."""

from __future__ import annotations

import os

from tf_checkpoint import UsageError


def import_torch():
    """Torch.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: python -m pip install -r requirements-convert.txt") from error
    return torch


def read_weights(path: str) -> dict:
    """A bare state_dict.

    Raises:
        UsageError: there is none.
    """
    if not os.path.isfile(path):
        raise UsageError(f"expected torch weights at {path}; nothing is there (convert_tf2torch.py makes them)")
    torch = import_torch()
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        readable = isinstance(state, dict) and all(isinstance(tensor, torch.Tensor) for tensor in state.values())
    except Exception:  # what torch's unpickler raises for a file that is none has no common class
        readable = False
    if not readable:
        raise UsageError(f"expected a bare state_dict saved by torch in {path}; it holds something else")
    return state


def write_weights(state: dict, path: str) -> None:
    """A bare state_dict as a file; its folder is made if it is missing, an old file replaced as a whole.

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
