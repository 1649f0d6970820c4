"""Workers over a student's module that takes the first free point, with a line of mischief before it answers."""

import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from common.torch_libraries import torch_libraries_mib
from grader.confinement.sandbox import ProcessLimits, find_sandbox
from grader.confinement.worker_client import Worker
from grader.errors import StudentFault
from grader.pipeline.submission import Submission
from grader.pipeline.workspace import build_workspace

ROOT = Path(__file__).resolve().parents[2]
MODULE = """
import glob, json, os, signal, subprocess, sys, threading, time
import numpy as np

calls = 0
probs = None

class Node:
    _parent, _children, _n_visits, _Q, _P = None, {}, 3, 0.5, 1.0

class MCTS:
    def __init__(self, *_):
        self._root = Node()

class MCTSPlayer:
    def __init__(self, **_):
        pass

    def get_action(self, board, **_):
        global calls, probs
        calls += 1
        MISCHIEF
        return board.availables[0] + calls - 1, probs
"""
LINE = MODULE[: MODULE.index("MISCHIEF")].count("\n") + 1
POSITION = {"width": 3, "height": 3, "n_in_row": 3, "moves": [0, 4]}
PLAYER = {"kind": "mcts_pure", "n_playout": 1, "c_puct": 5.0, "evaluator": {"kind": "uniform"}}
LIMITS = ProcessLimits(memory_mib=1024 + torch_libraries_mib(), cpu_s=30, processes=32, file_size_mib=8)
MANY = replace(LIMITS, children=True)  # submissions do not get this; even so, every process must end with its worker


@pytest.fixture
def worker(tmp_path, assignment, monkeypatch):
    """Makes a worker over a student's module; its scratch lies below tmp_path and is gone at the end."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = []

    def make(mischief="pass", limit_s=20.0, sandbox=None, limits=LIMITS, more=None):
        files = {"AlphaZero/mcts_pure.py": MODULE.replace("MISCHIEF", mischief).encode(), **(more or {})}
        workspace = build_workspace(assignment, Submission("work", files, (), (), ()), tmp_path / "workspace")
        made.append(Worker(workspace, sandbox or find_sandbox(), limits, limit_s))
        return made[-1]

    yield make
    for each in made:
        each.close()
    assert list(tmp_path.glob("grader-scratch-*")) == []


def choose(worker, **more):
    return [reply["move"] for reply in worker.call("choose", positions=[POSITION], **PLAYER, **more)]


def fault(worker, **more):
    """The one sentence of the fault that a call ends with."""
    with pytest.raises(StudentFault) as caught:
        choose(worker, **more)
    assert "\n" not in str(caught.value)
    return str(caught.value)
