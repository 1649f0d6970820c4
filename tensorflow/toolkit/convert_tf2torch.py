"""Turn a TensorFlow checkpoint of the policy-value network into weights for AlphaZero/policy_value_net_torch.py.

    python tensorflow/toolkit/convert_tf2torch.py model/best_policy.model model/11_11_5.pt

Reads `best_policy.model.index` and `best_policy.model.data-00000-of-00001`; board size and number of blocks are read from the
checkpoint, the optimiser's variables are skipped. OUT is a bare state_dict, to be loaded strictly with `weights_only=True`.
"""

from __future__ import annotations

import argparse
import os
import sys

from tf_checkpoint import Checkpoint, UsageError, layout, parse_board, read_checkpoint


def main() -> int:
    """Parse the command line and convert."""
    description, _, rest = (__doc__ or "").partition("\n\n")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, epilog=rest, formatter_class=formatter)
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="the checkpoint, or its .index file")
    parser.add_argument("out", metavar="OUT.pt", help="where the torch weights go; an old file is replaced")
    parser.add_argument("--board", metavar="WxH", help="columns x rows, to insist on (default: as the checkpoint says)")
    options = parser.parse_args()
    try:
        checkpoint = read_checkpoint(options.checkpoint, parse_board(options.board))
        write(state_dict(checkpoint), options.out)
    except UsageError as error:
        print(f"convert_tf2torch.py: {error}", file=sys.stderr)
        return 2
    print(f"{options.checkpoint}: {checkpoint}; {checkpoint.skipped} of the optimiser skipped; written to {options.out}")
    return 0


def state_dict(checkpoint: Checkpoint) -> dict:
    """The torch network's state_dict, in its order.

    Raises:
        UsageError: torch is missing.
    """
    try:
        import torch
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is not installed: python -m pip install -r requirements-convert.txt") from error
    state = {}
    # Which side is the width does not matter here: the shapes of either board are the same.
    for name, entry in layout(checkpoint.boards[0], checkpoint.block).items():
        state[entry.key] = torch.from_numpy(checkpoint.arrays[name].transpose(entry.axes).copy())
        if name.endswith("/moving_variance"):
            state[entry.key.replace("running_var", "num_batches_tracked")] = torch.tensor(0)
    return state


def write(state: dict, path: str) -> None:
    """A bare state_dict as a file; its folder is made if it is missing, an old file replaced as a whole.

    Raises:
        UsageError: the file cannot be written.
    """
    import torch

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


if __name__ == "__main__":
    sys.exit(main())
