"""A training run as one file, from which it continues as if it had not been interrupted.

The file holds both networks, the optimiser, the samples, the random generators of Python, numpy and torch, the curves and the
pipeline's counters. It is written between two games at which the pipeline makes a new self-play player, because a player's tree
and its memory of evaluations are not in the file. It is read without executing any code in it.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from common.errors import UsageError
from common.files import replacing

VERSION = 1
COUNTERS = ("games_played", "pure_mcts_playout_num", "best_exact", "best_win_ratio", "best", "verified")
BOARD = ("board_width", "board_height", "n_in_row")
CHUNK = 4096  # samples that are packed at once
State = dict[str, Any]
"""What the file holds: plain values, tensors, and dicts and lists of them."""


def can_be_saved_now(pipeline: Any) -> bool:
    """Whether the pipeline makes a new self-play player before the next game, so that nothing of the old one is missing."""
    return pipeline.games_played % max(1, pipeline.remember_games) == 0


def state_of(pipeline: Any, about_run: State) -> State:
    """Return the state of a pipeline.

    Args:
        about_run: plain values of the run that the pipeline does not know, such as its seed.
    """
    import torch

    optimiser = _optimiser_of(pipeline)
    kind, key, *position = np.random.get_state()
    return {
        "version": VERSION,
        "about_run": about_run,
        "settings": settings_of(pipeline),
        "counters": {name: getattr(pipeline, name) for name in COUNTERS},
        "networks": [_network_state(net) for net in (pipeline.policy_value_net, pipeline.average_net)],
        "optimiser": None if optimiser is None else optimiser.state_dict(),
        "samples": _pack(pipeline.data_buffer),
        "random": random.getstate(),
        "numpy": [kind, torch.from_numpy(np.asarray(key).astype(np.int64)), *position],
        "torch": torch.get_rng_state(),
    }


def write_state(path: Path, state: State) -> None:
    """Write or replace the file as a whole: even after a kill, the file is the old one or the new one."""
    import torch

    with replacing(path, durable=True) as unfinished:
        torch.save(state, unfinished)


def read_state(path: Path, *, plain_values_only: bool = False) -> State:
    """Read the file.

    Args:
        plain_values_only: whether the tensors can stay in the file, because the caller does not look at them.

    Raises:
        UsageError: there is no such file, or it holds something else.
    """
    import torch

    if not path.is_file():
        raise UsageError(f"expected the state of an interrupted run in {path}; no file is there: start without --resume")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True, mmap=plain_values_only)
        right = state["version"] == VERSION
    except Exception as error:  # torch's unpickler raises unrelated exception classes for other kinds of files
        raise UsageError(
            f"expected the state of an interrupted run in {path}; it holds something else: start without --resume"
        ) from error
    if not right:
        raise UsageError(
            f"expected a state of version {VERSION} in {path}; it has version {state['version']}: start without --resume"
        )
    return state


def restore(pipeline: Any, state: State) -> list[str]:
    """Give a new pipeline the state that another one had.

    Returns:
        Sentences about what could not be restored.

    Raises:
        UsageError: the board or the networks of the state are not those of the pipeline.
    """
    import torch

    now, before = board_of(pipeline), tuple(state["settings"][name] for name in BOARD)
    if now != before:
        expected, found = (f"{width}x{height} with {row} in a row" for width, height, row in (before, now))
        raise UsageError(
            f"expected the board with which the run began, {expected}; train.py now has {found}: change it back, or start "
            "without --resume"
        )
    for name, value in {**state["settings"], **state["counters"]}.items():
        setattr(pipeline, name, value)
    try:
        for net, network in zip((pipeline.policy_value_net, pipeline.average_net), state["networks"], strict=True):
            net.model.load_state_dict(network["weights"])
            net.model.train(network["is_training"])
    except RuntimeError as error:
        raise UsageError(
            "expected the network with which the run began; its layers have changed since "
            f"({str(error).splitlines()[-1].strip()}): start without --resume"
        ) from error
    missing = _restore_optimiser(pipeline, state["optimiser"])
    pipeline.data_buffer = deque(_unpack(state["samples"]), maxlen=pipeline.buffer_size)
    version, numbers, gauss = state["random"]
    random.setstate((version, tuple(numbers), gauss))
    kind, key, *position = state["numpy"]
    np.random.set_state((kind, key.numpy().astype(np.uint32), *position))
    torch.set_rng_state(state["torch"])
    return missing


def settings_of(pipeline: Any) -> State:
    """Return the pipeline's hyper-parameters by name."""
    names = [field.name for field in fields(pipeline)]
    return {name: getattr(pipeline, name) for name in names}


def board_of(pipeline: Any) -> tuple[int, int, int]:
    """Return width, height and n_in_row of a pipeline's board."""
    width, height, n_in_row = (getattr(pipeline, name) for name in BOARD)
    return width, height, n_in_row


def _network_state(net: Any) -> State:
    return {"weights": net.model.state_dict(), "is_training": net.model.training}


def _optimiser_of(pipeline: Any) -> Any:
    """Return the network's optimiser, or None if it has none whose state can be kept as plain values."""
    optimiser = getattr(pipeline.policy_value_net, "optimizer", None)
    try:
        return optimiser if optimiser is not None and _is_plain(optimiser.state_dict()) else None
    except AttributeError:
        return None


def _restore_optimiser(pipeline: Any, state: State | None) -> list[str]:
    optimiser = getattr(pipeline.policy_value_net, "optimizer", None)
    try:
        if state is not None and optimiser is not None:
            optimiser.load_state_dict(state)
            return []
    except (AttributeError, KeyError, ValueError):
        pass  # an optimiser of another kind than before
    return [
        "PolicyValueNet.optimizer has no state that fits, so it starts again from nothing; the network will differ from that "
        "of an uninterrupted run."
    ]


def _is_plain(value: Any) -> bool:
    """Whether a value can be read again without executing code."""
    import torch

    if isinstance(value, dict):
        return all(_is_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str, torch.Tensor)


def _pack(samples: Iterable[Sequence[Any]]) -> list[State]:
    """Return the samples in chunks; feature planes, which are 0 or 1, take one bit for each point."""
    import torch

    everything, packed = list(samples), []
    for start in range(0, len(everything), CHUNK):
        states, probs, results = zip(*everything[start : start + CHUNK], strict=True)
        planes = np.stack(states)
        packed.append(
            {
                "shape": list(planes.shape),
                "dtype": planes.dtype.str,
                "bits": torch.from_numpy(np.packbits(planes.astype(bool))),
                "probs": torch.from_numpy(np.stack(probs)),
                "results": [float(result) for result in results],
            }
        )
    return packed


def _unpack(chunks: Iterable[State]) -> Iterable[tuple[np.ndarray, np.ndarray, float]]:
    for chunk in chunks:
        bits = np.unpackbits(chunk["bits"].numpy(), count=int(np.prod(chunk["shape"])))
        planes = bits.reshape(chunk["shape"]).astype(chunk["dtype"])
        yield from zip(planes, chunk["probs"].numpy(), chunk["results"], strict=True)
