"""What an earlier run left in tmp/: an unfinished run, or a run on another board, is put aside before a new run begins."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from common.errors import UsageError
from common.weights import WeightsError, read_weights
from training.loop.state import read_state

WORTH_KEEPING_GAMES = 50  # fewer are played again in seconds


def set_aside(state: Path, network: Path, others: Sequence[Path], board: tuple[int, int, int]) -> str:
    """Move the files of an earlier run to a folder of their own if the new run would lose something by replacing them.

    Args:
        state: where the state of a run is.
        network: where the latest network of a run is.
        others: more files of a run, which go the same way.
        board: width, height, n_in_row of the new run.

    Returns:
        A sentence about what was moved, or an empty string.
    """
    what, can_go_on = _worth_keeping(state, network, board)
    if not what:
        return ""
    folder = next(path for path in (state.parent / f"earlier_{number}" for number in count(1)) if not path.exists())
    folder.mkdir()
    for path in (state, network, *others):
        if path.exists():
            os.replace(path, folder / path.name)
    go_on = f"; python train.py --resume {folder / state.name} continues it" if can_go_on else ""
    return f"{what} is kept in {folder}{go_on}."


def _worth_keeping(state: Path, network: Path, board: tuple[int, int, int]) -> tuple[str, bool]:
    """Return a description of what the earlier run left, empty if the new run may replace it, and whether it can go on."""
    if state.exists():
        try:
            earlier = read_state(state, plain_values_only=True)
        except UsageError:
            return f"What {state} holds, which is not the state of a run,", False
        settings, games = earlier["settings"], earlier["counters"]["games_played"]
        its_board = (settings["board_width"], settings["board_height"], settings["n_in_row"])
        name = f"The earlier run ({earlier['about_run']['preset']}, {games} games)"
        if games >= WORTH_KEEPING_GAMES and (its_board != board or not earlier["about_run"]["is_over"]):
            return name, not earlier["about_run"]["is_over"]
        return "", False
    if network.exists():
        try:
            points = read_weights(network)["dense_layer_1.bias"].shape[0]
        except WeightsError:
            points = 0
        if points != board[0] * board[1]:
            return f"The network of another board in {network}", False
    return "", False
