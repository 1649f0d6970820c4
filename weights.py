"""The policy-value network of a weights file, for human_play.py, Minimax/python_player.py and training/.

A file that does not fit is told in a sentence.
"""

import os


class WeightsError(ValueError):
    """The file holds no weights of this network for this board: what was expected and what came, in one sentence."""


def read_weights(path):
    """A weights file as a state_dict.

    Raises:
        WeightsError: there is no such file, or it holds something else.
    """
    import torch

    if not os.path.isfile(path):
        raise WeightsError(f"expected weights at {path}; no file is there (python train.py makes model/best_policy.model)")
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        sizes_of_weights(state)
    except Exception as error:  # what torch's unpickler raises for a file that is none has no common class
        raise WeightsError(f"expected weights of the policy-value network in {path}; it holds something else") from error
    return dict(state)  # without torch's version of each layer, by which num_batches_tracked could not be missing


def sizes_of_weights(weights):
    """(points, blocks) of a state_dict by its shapes."""
    return weights["dense_layer_1.weight"].shape[0], len({key.split(".")[1] for key in weights if key.startswith("resnet.")})


def without_idle_blocks(weights):
    """Weights of the same outputs without the residual blocks that change nothing, the others numbered anew.

    A block whose last batch norm has scale and shift 0 adds nothing, and relu leaves its input, the sum after another block,
    as it is. The first block stays: its input has not been through a relu.

    Args:
        weights: a state_dict of PolicyValueNetModel.
    """
    blocks = sorted({int(name.split(".")[1]) for name in weights if name.startswith("resnet.")})
    kept = [
        block
        for block in blocks
        if block == 0 or weights[f"resnet.{block}.4.weight"].any() or weights[f"resnet.{block}.4.bias"].any()
    ]
    number = {str(block): str(place) for place, block in enumerate(kept)}
    fewer = {}
    for name, tensor in weights.items():
        tower, _, rest = name.partition(".")
        block, _, layer = rest.partition(".")
        if tower != "resnet":
            fewer[name] = tensor
        elif block in number:
            fewer[f"resnet.{number[block]}.{layer}"] = tensor
    return fewer


def load_network(path, width, height):
    """The student's network for this board, with these weights; residual blocks that change nothing are left out.

    Raises:
        WeightsError: the weights are of another board or of another network, or there are none.
        NotImplementedError: the network is not written yet.
    """
    from AlphaZero.policy_value_net_torch import PolicyValueNet

    weights = read_weights(path)
    points, _ = sizes_of_weights(weights)
    if width * height != points:
        raise WeightsError(f"expected weights of a {width}x{height} board; those in {path} have {points} points")
    try:
        fewer = without_idle_blocks(weights)
        net = PolicyValueNet(width, height, sizes_of_weights(fewer)[1])
        net.model.load_state_dict(fewer)
    except NotImplementedError:  # a RuntimeError too, but told in a sentence of its own
        raise
    except (KeyError, RuntimeError) as error:
        raise WeightsError(f"expected weights of this network in {path}: {str(error).splitlines()[-1].strip()}") from error
    return net
