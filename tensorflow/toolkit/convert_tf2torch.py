"""Turn a TensorFlow checkpoint of the policy-value network into weights for AlphaZero/policy_value_net_torch.py.

    python tensorflow/toolkit/convert_tf2torch.py model/best_policy.model model/11_11_5.pt

This reads `best_policy.model.index` and `best_policy.model.data-00000-of-00001`. The board size and the number of blocks
follow from the checkpoint; the optimiser's variables are skipped. OUT is a bare state_dict: read it by `torch.load(OUT,
weights_only=True)` and load it with `strict=True`.
"""

from __future__ import annotations

import argparse
import sys

from tf_checkpoint import Checkpoint, UsageError, layout, parse_board, read_checkpoint
from torch_weights import import_torch, write_weights


def main() -> int:
    """Parse the command line and convert."""
    description, _, rest = (__doc__ or "").partition("\n\n")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, epilog=rest, formatter_class=formatter)
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="the checkpoint, or its .index file")
    parser.add_argument("out", metavar="OUT.pt", help="the file of torch weights to write; an existing file is replaced")
    parser.add_argument("--board", metavar="WxH", help="columns x rows that the checkpoint must have (default: any)")
    options = parser.parse_args()
    try:
        checkpoint = read_checkpoint(options.checkpoint, parse_board(options.board))
        write_weights(state_dict(checkpoint), options.out)
    except UsageError as error:
        print(f"convert_tf2torch.py: {error}", file=sys.stderr)
        return 2
    print(f"{options.checkpoint}: {checkpoint}; {checkpoint.skipped} of the optimiser skipped; written to {options.out}")
    return 0


def state_dict(checkpoint: Checkpoint) -> dict:
    """Return the state_dict of the torch network, in the order of its layers.

    Raises:
        UsageError: torch is missing.
    """
    torch = import_torch()
    state = {}
    # It does not matter here which side is the width: both boards give the same shapes.
    for name, entry in layout(checkpoint.boards[0], checkpoint.block).items():
        state[entry.key] = torch.from_numpy(checkpoint.arrays[name].transpose(entry.axes).copy())
        if name.endswith("/moving_variance"):
            state[entry.key.replace("running_var", "num_batches_tracked")] = torch.tensor(0)
    return state


if __name__ == "__main__":
    sys.exit(main())
