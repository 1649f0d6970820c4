"""Compare the TensorFlow network of a checkpoint with your torch network, which uses the weights converted from it.

    python tensorflow/toolkit/compare_tf_torch.py model/best_policy.model model/11_11_5.pt

Both networks compute the probabilities of all moves and the value (for the side to move) on random planes and on positions
of random games. The largest differences are printed. Exit codes: 0 if all are within the tolerance of 1e-4, 1 if not, 2 the
call was wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from tf_checkpoint import Checkpoint, UsageError, checkpoint_prefix, parse_board, read_checkpoint
from torch_weights import read_weights

if TYPE_CHECKING:  # imported later, once TensorFlow is known to be installed
    import numpy as np

TOLERANCE = 1e-4
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDERS = [
    os.path.dirname(HERE),
    os.path.dirname(os.path.dirname(HERE)),
]  # these hold the TensorFlow network; Board/ and AlphaZero/


def main() -> int:
    """Parse the command line, evaluate the networks and print the table."""
    description, _, rest = (__doc__ or "").partition("\n\n")
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=description, epilog=rest, formatter_class=formatter)
    parser.add_argument("checkpoint", metavar="CHECKPOINT", help="the checkpoint, or its .index file")
    parser.add_argument("weights", metavar="WEIGHTS", help="the torch weights converted from it")
    parser.add_argument("--board", metavar="WxH", help="columns x rows; required if the board is not square")
    parser.add_argument("--positions", type=int, default=64, metavar="N", help="number of positions of each kind (default 64)")
    parser.add_argument("--seed", type=int, default=0, help="random seed of the positions (default 0)")
    options = parser.parse_args()
    if options.positions < 1 or options.seed < 0:
        parser.error(f"expected --positions of at least 1 and --seed of at least 0; got {options.positions}, {options.seed}")
    try:
        return compare(options)
    except UsageError as error:
        print(f"compare_tf_torch.py: {error}", file=sys.stderr)
        return 2


def compare(options: argparse.Namespace) -> int:
    """Evaluate both networks and print the table; return 0 if they are the same network, otherwise 1.

    Raises:
        UsageError: a file or a library is missing, or something does not fit.
    """
    checkpoint = read_checkpoint(options.checkpoint, parse_board(options.board))
    if len(checkpoint.boards) > 1:
        one, other = (f"{width}x{height}" for width, height in checkpoint.boards)
        raise UsageError(f"expected --board {one} or --board {other}: the checkpoint does not say which side is the width")
    import numpy as np

    sys.path[:0] = FOLDERS
    numbers = np.random.default_rng(options.seed)
    [(width, height)] = checkpoint.boards
    states = {
        "random planes": random_planes(options.positions, width, height, numbers),
        "positions of games": game_positions(options.positions, width, height, numbers),
    }
    ours = evaluate_torch(options.weights, checkpoint, states)
    theirs = evaluate_tf(checkpoint_prefix(options.checkpoint), checkpoint, states)
    print(f"{options.checkpoint}: {checkpoint}; seed {options.seed}")
    print(f"{'largest difference':20}{'states':>8}{'probabilities':>16}{'value':>12}")
    largest = 0.0
    for kind in states:
        differences = []
        for head, a, b in zip(("probabilities", "values"), theirs[kind], ours[kind], strict=True):
            if np.shape(b) != a.shape:
                print(f"NOT the same network: expected {head} of shape {a.shape} from torch; got {np.shape(b)}.")
                return 1
            differences.append(float(np.abs(a - b).max()))
        print(f"{kind:20}{len(states[kind]):8}{differences[0]:16.2e}{differences[1]:12.2e}")
        largest = float(np.max([largest, *differences]))  # NaN if any difference is NaN
    equal = largest <= TOLERANCE
    print(f"{'The same network' if equal else 'NOT the same network'}: {largest:.2e} against a tolerance of {TOLERANCE:.0e}.")
    return 0 if equal else 1


def random_planes(count: int, width: int, height: int, numbers: np.random.Generator) -> np.ndarray:
    """Return [count, 9, height, width] float32 of random zeros and ones; most of these states cannot occur in a game."""
    return numbers.integers(0, 2, (count, 9, height, width)).astype("float32")


def game_positions(count: int, width: int, height: int, numbers: np.random.Generator) -> np.ndarray:
    """Return [count, 9, height, width] float32: one state, at a random stage, from each of `count` games of random moves."""
    import numpy as np

    from Board.game_board import Board

    states = []
    for _ in range(count):
        board = Board(width=width, height=height, n_in_row=min(5, width, height))
        board.init_board(int(numbers.integers(2)))
        game = []
        while not board.game_end()[0]:
            game.append(board.current_state())
            board.do_move(int(numbers.choice(board.availables)))
        states.append(game[numbers.integers(len(game))])
    return np.stack(states)


def evaluate_tf(prefix: str, checkpoint: Checkpoint, states: dict) -> dict:
    """Return a dict: kind of state -> (probs [N, W*H], value [N, 1]) computed by TensorFlow."""
    from policy_value_net_tensorflow import PolicyValueNet

    net = PolicyValueNet(*checkpoint.boards[0], checkpoint.block, init_model=prefix)
    return {kind: net.policy_value(x, net.action_fc_test, net.evaluation_fc2_test) for kind, x in states.items()}


def evaluate_torch(path: str, checkpoint: Checkpoint, states: dict) -> dict:
    """Return a dict: kind of state -> (probs [N, W*H], value [N, 1]) computed by the AlphaZero package of this tree.

    Raises:
        UsageError: the network is not written yet, or the weights do not belong to this network.
    """
    read_weights(path)
    try:
        from AlphaZero.policy_value_net_torch import PolicyValueNet

        net = PolicyValueNet(*checkpoint.boards[0], checkpoint.block, init_model=path)
        return {kind: net.policy_value(x, net.action_fc_test, net.evaluation_fc2_test) for kind, x in states.items()}
    except NotImplementedError as error:
        raise UsageError(f"your torch network comes first and is not written yet: {error}") from error
    except RuntimeError as error:
        if "state_dict" not in str(error):
            raise
        raise UsageError(f"expected weights of this network in {path}: {str(error).splitlines()[-1].strip()}") from error


if __name__ == "__main__":
    sys.exit(main())
