"""Turn weights of AlphaZero/policy_value_net_torch.py into a TensorFlow checkpoint: the reverse of convert_tf2torch.py.

    python tensorflow/toolkit/convert_torch2tf.py model/11_11_5.pt model/best_policy.model

This writes `best_policy.model.index` and `best_policy.model.data-00000-of-00001` (TF1, saver v2). They contain the network's
variables but not the optimiser's. The board size and the number of blocks follow from the weights.
"""

from __future__ import annotations

import argparse
import sys

from tf_checkpoint import Board, UsageError, differences, import_tensorflow, layout, listed, sides, write_checkpoint
from torch_weights import read_weights


def main() -> int:
    """Parse the command line and convert."""
    description, _, rest = (__doc__ or "").partition("\n\n")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, epilog=rest, formatter_class=formatter)
    parser.add_argument("weights", metavar="WEIGHTS", help="a bare state_dict of the torch network")
    parser.add_argument(
        "out", metavar="OUT", help="the checkpoint to write, such as best_policy.model; existing files are replaced"
    )
    options = parser.parse_args()
    try:
        import_tensorflow()
        state = read_weights(options.weights)
        (width, height), block = sizes(state, options.weights)
        arrays = variables(state, (width, height), block)
        write_checkpoint(arrays, options.out)
    except UsageError as error:
        print(f"convert_torch2tf.py: {error}", file=sys.stderr)
        return 2
    board = f"{width}x{height}" if width == height else f"{width}x{height} or {height}x{width}"
    blocks = f"{block} block{'' if block == 1 else 's'}"
    print(f"{options.weights}: board {board}, {blocks}, {len(arrays)} variables; written to {options.out}")
    return 0


def sizes(state: dict, path: str) -> tuple[Board, int]:
    """Return the board (longer side first) and the number of blocks of torch weights.

    Raises:
        UsageError: a layer is missing, has another shape or does not belong to such a network; the message names it.
    """
    shapes = {key: tuple(tensor.shape) for key, tensor in state.items() if not key.endswith("num_batches_tracked")}
    block = len({key.split(".")[1] for key in shapes if key.startswith("resnet.")})
    policy = shapes.get("dense_layer_1.weight", ())
    board = sides(policy[0], policy[1] // 2) if len(policy) == 2 else None
    if board is None:
        said = f"[{', '.join(map(str, policy))}]" if policy else "missing"
        raise UsageError(f"expected dense_layer_1.weight of a board in {path}; it is {said}")
    expected = {entry.key: tuple(entry.shape[axis] for axis in entry.axes) for entry in layout(board, block).values()}
    if wrong := differences(shapes, expected):
        network = f"a {board[0]}x{board[1]} board with {block} block{'' if block == 1 else 's'}"
        raise UsageError(f"expected exactly the layers of {network} in {path}: {listed(wrong)}")
    return board, block


def variables(state: dict, board: Board, block: int) -> dict:
    """Return the variables of the checkpoint: a dict from name to float32 array."""
    arrays = {}
    for name, entry in layout(board, block).items():
        back = sorted(range(len(entry.axes)), key=entry.axes.__getitem__)
        arrays[name] = state[entry.key].float().numpy().transpose(back).copy()
    return arrays


if __name__ == "__main__":
    sys.exit(main())
