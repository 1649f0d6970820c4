"""Networks of the reference, and evaluators whose answers a test can predict."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch

INSTRUCTOR = Path(__file__).resolve().parents[2] / "instructor"


@pytest.fixture
def curves():
    """Let the runs of a test draw their curves, if matplotlib is installed."""


@pytest.fixture(autouse=True)
def _draws_no_curves(request, monkeypatch):
    """Hide matplotlib from runs that do not ask for it: it takes nearly a second to draw the curves after an evaluation."""
    if "curves" not in request.fixturenames:
        monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.fixture
def load_variant(load_module):
    """Loads a module of one of the right variants of instructor/submissions."""

    def load(variant, name):
        return load_module(INSTRUCTOR / "submissions" / "variants" / variant / "AlphaZero" / f"{name}.py")

    return load


@pytest.fixture
def make_network(reference):
    """A network of the reference whose batch norms have seen something and whose heads have opinions."""

    def make(width, height, block, seed=1):
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        network = reference("policy_value_net_torch").PolicyValueNet(width, height, block)
        with torch.no_grad():
            for name, weights in network.model.named_parameters():
                if ".1." in name or ".4." in name or name.startswith("bn_"):
                    weights += torch.empty_like(weights).uniform_(-0.5, 0.5)
                elif name in ("dense_layer_1.weight", "flatten_layer_3.weight"):
                    weights *= 5
            network.model.train()
            for _ in range(20):
                network.model((torch.rand(64, 9, height, width) < 0.3).float())
        return network

    return make


@pytest.fixture
def fixed_evaluator():
    """An evaluator drawn by a seed: probs and value of a state depend on its planes alone, whatever stands beside it."""

    def make(points, seed=1):
        rng = np.random.default_rng(seed)
        weights = rng.normal(size=(points + 1, 9, points))

        def evaluate(states):
            flat = states.reshape(len(states), 1, 9, points)
            numbers = np.array([(weights * state).sum(axis=(1, 2)) for state in flat])
            probs = np.exp(np.sin(numbers[:, :-1]) * 2)
            return (probs / probs.sum(axis=1, keepdims=True)).astype(np.float32), np.sin(numbers[:, -1]).astype(np.float32)

        return evaluate

    return make


@pytest.fixture
def started(reference, capfd):
    """Runs the command in this process: (exit code, standard output, standard error)."""
    reference("policy_value_net_torch")

    from training.selfplay import long_run

    def start(words):
        code = long_run.main(words)
        return code, *capfd.readouterr()

    return start
