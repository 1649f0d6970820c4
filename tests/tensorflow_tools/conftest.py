"""The tools' modules, the networks of both libraries, and checkpoints of trained TensorFlow networks."""

import sys

import numpy as np
import pytest
from checkpoint_tools import REFERENCE, ROOT, TOOLKIT, batch, load, random_weights


@pytest.fixture(scope="session")
def checkpoints():
    return load("tf_checkpoint", TOOLKIT)


@pytest.fixture(scope="session")
def reference():
    return load("AlphaZero.policy_value_net_torch", REFERENCE)


@pytest.fixture(scope="session")
def tensorflow(checkpoints):
    return checkpoints.import_tensorflow()


@pytest.fixture(scope="session")
def network(tensorflow):
    return load("policy_value_net_tensorflow", ROOT / "tensorflow").PolicyValueNet


@pytest.fixture(scope="session")
def trained(tensorflow, network, tmp_path_factory):
    """(TensorFlow network, its checkpoint) of a size: random weights and statistics, then a training step."""
    made = {}

    def make(width, height, block):
        if (width, height, block) not in made:
            net = network(width, height, block)
            numbers = np.random.default_rng(5)
            with net.graph.as_default():
                for variable in tensorflow.compat.v1.global_variables():
                    variable.load(random_weights(variable.op.name, variable.shape.as_list(), numbers), net.session)
            net.train_step(*batch(numbers, 16, width, height), 1e-3)
            path = tmp_path_factory.mktemp("checkpoint") / "best_policy.model"
            net.save_model(str(path))
            made[width, height, block] = net, path
        return made[width, height, block]

    return make


@pytest.fixture
def run_here(monkeypatch, capsys):
    """Runs a tool as `checkpoint_tools.run` does, but in this process, which has loaded both libraries."""

    def run_here(script, *arguments):
        module = load(script.stem, TOOLKIT)
        monkeypatch.setattr(sys, "argv", [script.name, *map(str, arguments)])
        monkeypatch.setattr(sys, "path", [*sys.path])
        capsys.readouterr()
        return module.main(), *capsys.readouterr()

    return run_here


@pytest.fixture
def converted(checkpoints, tmp_path):
    """Converts a checkpoint into a weights file."""

    def convert(path):
        module = load("convert_tf2torch", TOOLKIT)
        module.write_weights(module.state_dict(checkpoints.read_checkpoint(str(path))), str(tmp_path / "weights.pt"))
        return tmp_path / "weights.pt"

    return convert
