"""Turn a TensorFlow checkpoint of the policy-value network into weights for AlphaZero/policy_value_net_torch.py.

    python tensorflow/toolkit/convert_tf2torch.py model/best_policy.model model/11_11_5.pt

Reads `best_policy.model.index` and `best_policy.model.data-00000-of-00001`; board size and number of blocks are read from the
checkpoint, the optimiser's variables are skipped. OUT is a bare state_dict, to be loaded strictly with `weights_only=True`.
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
    parser.add_argument("out", metavar="OUT.pt", help="where the torch weights go; an old file is replaced")
    parser.add_argument("--board", metavar="WxH", help="columns x rows, to insist on (default: as the checkpoint says)")
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
    """The torch network's state_dict, in its order.

    Raises:
        UsageError: torch is missing.
    """
    torch = import_torch()
    state = {}
    # Which side is the width does not matter here: the shapes of either board are the same.
    for name, entry in layout(checkpoint.boards[0], checkpoint.block).items():
        state[entry.key] = torch.from_numpy(checkpoint.arrays[name].transpose(entry.axes).copy())
        if name.endswith("/moving_variance"):
            state[entry.key.replace("running_var", "num_batches_tracked")] = torch.tensor(0)
    return state


if __name__ == "__main__":
    sys.exit(main())
