"""Memory that was freed is used again without asking the system for it."""

import platform
import subprocess
import sys

import pytest
import torch

from games.gomoku.rules import GomokuRules
from training.inference.networks import trainable_network

# Fills and frees 64 MiB in blocks of 2 MiB ten times, and prints the page faults of the last nine.
FILLS = """
import resource, sys
from training.freed_memory import keep_freed_memory
if sys.argv[1] == "keep":
    keep_freed_memory()
def fill():
    blocks = [bytes(1) * (2 << 20) for _ in range(32)]
fill()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(9):
    fill()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_memory_is_not_asked_for_again():
    faults = {
        how: int(subprocess.run([sys.executable, "-c", FILLS, how], check=True, capture_output=True, text=True).stdout)
        for how in ("keep", "return")
    }
    pages = 9 * (64 << 20) // 4096
    assert faults["keep"] < pages / 20 and faults["return"] > pages / 2


def test_the_courses_network_is_trained_in_the_faster_layout(reference):
    reference("policy_value_net_torch")
    network = trainable_network("course", GomokuRules(5, 4, 4), 1, 64)
    weights = network.model.get_parameter("resnet.0.0.weight")
    assert weights.is_contiguous(memory_format=torch.channels_last)
    assert any(weights is trained for group in network.optimizer.param_groups for trained in group["params"])
