"""Weights that have faded away do not make a processor slow."""

import subprocess
import sys

import pytest
import torch

from common.student_network import load_network
from common.subnormals import FADED, without_faded

# What programs do before they learn or search.
BEGINNINGS = {
    "the call itself": "from common.subnormals import flush_subnormals; flush_subnormals()",
    "self-play": "from training.selfplay.long_run import main; assert main(['--run', 'none', '--workers', '-1']) == 2",
    "supervised": "from training.supervised.learning import main; assert main(['none', '--games', 'x', '--run', 'y']) == 2",
}
TINY = "print((torch.full((4,), 1e-39) * 1.0).any().item())"


@pytest.mark.parametrize("beginning", BEGINNINGS.values(), ids=BEGINNINGS)
def test_torch_takes_subnormal_numbers_as_0(beginning):
    code = f"import torch; {TINY}; {beginning}; {TINY}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "True\nFalse\n"


def test_numpy_does_not_warn_afterwards():
    code = f"{BEGINNINGS['the call itself']}; import numpy; numpy.finfo(float); numpy.finfo(numpy.float32)"
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_faded_weights_become_0_and_others_stay_as_they_are():
    given = {"a.weight": torch.tensor([1e-39, -FADED / 2, 2 * FADED, 0.0, -1.0]), "a.num_batches_tracked": torch.tensor(3)}
    found = without_faded(given)
    assert found["a.weight"].tolist() == pytest.approx([0.0, 0.0, 2 * FADED, 0.0, -1.0], rel=1e-6, abs=0)
    assert found["a.num_batches_tracked"].item() == 3


def test_a_network_is_loaded_without_faded_weights(reference, tmp_path):
    make = reference("policy_value_net_torch").PolicyValueNet
    weights = make(3, 3, 1).model.state_dict()
    weights["resnet.0.0.weight"][0] = 1e-39
    torch.save(weights, tmp_path / "faded.model")
    loaded = load_network(make, tmp_path / "faded.model", 3, 3).model.state_dict()["resnet.0.0.weight"]
    assert not loaded[0].any() and torch.equal(loaded[1:], weights["resnet.0.0.weight"][1:])
