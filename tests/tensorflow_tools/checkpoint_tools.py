"""What the tests of tensorflow/toolkit share: the tools, random weights and batches, checkpoints apart from any network."""

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference"
TOOLKIT = ROOT / "tensorflow" / "toolkit"
CONVERT, BACK, COMPARE = (TOOLKIT / f"{name}.py" for name in ("convert_tf2torch", "convert_torch2tf", "compare_tf_torch"))
INSTALL = "TensorFlow is not installed: python -m pip install -r requirements-convert.txt"
SIZES = [(3, 3, 1), (5, 4, 2)]
# TensorFlow takes half a minute for each network of the full size.
FULL_SIZE = (11, 11, 19)
ALL_SIZES = [*SIZES, FULL_SIZE] if os.environ.get("TRUST") == "all" else SIZES

# Without the real package, `import tensorflow` may find this project's folder of that name, which has no file of its own.
found = importlib.util.find_spec("tensorflow")
needs_tensorflow = pytest.mark.skipif(found is None or found.origin is None, reason="needs requirements-convert.txt")


def load(name, *folders):
    """Imports a module from one of these folders."""
    sys.path[:0] = [str(folder) for folder in folders]
    try:
        module = importlib.import_module(name)
    finally:
        del sys.path[: len(folders)]
    assert any(Path(module.__file__).is_relative_to(folder) for folder in folders)
    return module


def random_weights(name, shape, numbers):
    """Weights that make every variable matter and leave the activations of 19 blocks within bounds."""
    if name.endswith(("gamma", "moving_variance")):
        values = numbers.uniform(0.5, 1.5, shape)
    elif len(shape) == 1:
        values = numbers.normal(0.0, 0.1, shape)
    else:
        scale = 0.6 if "resnet" in name else 1.5
        values = numbers.normal(0.0, scale / np.sqrt(np.prod(shape[:-1])), shape)
    return values.astype(np.float32)


def batch(numbers, count, width, height):
    """(states, move probabilities, results) drawn at random."""
    states = numbers.integers(0, 2, (count, 9, height, width)).astype(np.float32)
    probs = numbers.dirichlet(np.ones(width * height), count)
    return states, probs, numbers.choice([-1.0, 0.0, 1.0], count)


def run(script, *arguments, cwd=ROOT):
    """(exit code, standard output, standard error) of a tool."""
    done = subprocess.run([sys.executable, script, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, timeout=600)
    return done.returncode, done.stdout, done.stderr


def write_checkpoint(tf, path, arrays):
    """A saver-v2 checkpoint of these arrays, apart from any network."""
    tf1 = tf.compat.v1
    with tf.Graph().as_default(), tf1.Session() as session:
        variables = [tf1.get_variable(name, initializer=array) for name, array in arrays.items()]
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver(variables).save(session, str(path), write_meta_graph=False, write_state=False)


def shapes_of(checkpoints, board=(3, 3), block=1):
    """Variable -> shape of a whole checkpoint, with those of the optimiser."""
    shapes = {name: entry.shape for name, entry in checkpoints.layout(board, block).items()}
    slots = {f"{name}/{slot}": shape for name, shape in shapes.items() for slot in ("Adam", "Adam_1")}
    return shapes | slots | {"beta1_power": (), "beta2_power": ()}
