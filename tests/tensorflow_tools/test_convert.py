"""Checkpoints written by TensorFlow, converted and loaded into the reference network; without TensorFlow, one sentence.

What needs no TensorFlow runs everywhere; the rest needs an environment with requirements-convert.txt.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from checkpoint_tools import (
    ALL_SIZES,
    BACK,
    COMPARE,
    CONVERT,
    FULL_SIZE,
    INSTALL,
    REFERENCE,
    ROOT,
    SIZES,
    TOOLKIT,
    batch,
    load,
    needs_tensorflow,
    run,
    shapes_of,
    write_checkpoint,
)

from common.weights import expected_layout

# ------------------------------------------------------------------------------------- names, shapes and sizes alone


@pytest.mark.parametrize(("board", "block", "count"), [((3, 3), 1, 32), ((11, 11), 19, 248), ((15, 15), 19, 248)])
def test_the_number_of_variables(checkpoints, board, block, count):
    assert len(checkpoints.layout(board, block)) == count


@pytest.mark.parametrize(("width", "height", "block"), [*SIZES, FULL_SIZE])
def test_every_layer_of_the_torch_network_comes_from_one_variable(checkpoints, width, height, block):
    table = checkpoints.layout((width, height), block).values()
    converted = {entry.key: tuple(entry.shape[axis] for axis in entry.axes) for entry in table}
    expected = expected_layout(width, height, block)
    assert len(converted) == len(table)
    assert converted == {key: shape for key, shape in expected.items() if not key.endswith("num_batches_tracked")}


def test_the_sides_of_every_board_follow_from_two_products(checkpoints):
    for width in range(1, 31):
        for height in range(1, width + 1):
            assert checkpoints.sides(width * height, (width + 4) * (height + 4)) == (width, height)


@pytest.mark.parametrize(("points", "padded"), [(9, 48), (9, 57), (0, 24), (10, 49), (1, 9), (9, 1), (7, 40)])
def test_other_products_are_of_no_board(checkpoints, points, padded):
    assert checkpoints.sides(points, padded) is None


def test_board_and_blocks_are_read_from_the_shapes(checkpoints):
    assert checkpoints.read_sizes(shapes_of(checkpoints)) == ([(3, 3)], 1)
    assert checkpoints.read_sizes(shapes_of(checkpoints, (11, 11), 19)) == ([(11, 11)], 19)
    assert checkpoints.read_sizes(shapes_of(checkpoints, (7, 6), 0)) == ([(7, 6), (6, 7)], 0)
    assert checkpoints.read_sizes(shapes_of(checkpoints, (6, 7), 3), (6, 7)) == ([(6, 7)], 3)


def test_each_missing_variable_is_named_alone(checkpoints):
    whole = shapes_of(checkpoints)
    for name in checkpoints.layout((3, 3), 1):
        with pytest.raises(checkpoints.UsageError) as caught:
            checkpoints.read_sizes({other: shape for other, shape in whole.items() if other != name})
        assert str(caught.value).endswith(f"in the checkpoint: {name} is missing")


def test_each_misshaped_variable_is_named_alone(checkpoints):
    for name, entry in checkpoints.layout((3, 3), 1).items():
        wrong = (*entry.shape[:-1], entry.shape[-1] + 1)
        with pytest.raises(checkpoints.UsageError) as caught:
            checkpoints.read_sizes(shapes_of(checkpoints) | {name: wrong})
        assert str(caught.value).endswith(f": {name} has shape {list(wrong)} in place of {list(entry.shape)}")


@pytest.mark.parametrize("name", ["global_step", "model/conv2d_4/bias", "conv2d_1/bias", "model/resnet_conv2d_0_3/bias"])
def test_an_extra_variable_is_named_alone(checkpoints, name):
    with pytest.raises(checkpoints.UsageError, match=rf"in the checkpoint: {name} is extra$"):
        checkpoints.read_sizes(shapes_of(checkpoints) | {name: (64,)})


def test_a_lost_block_is_missing_and_not_taken_for_a_smaller_network(checkpoints):
    shapes = {name: shape for name, shape in shapes_of(checkpoints, block=3).items() if "_1_" not in name}
    with pytest.raises(checkpoints.UsageError, match=r"resnet_conv2d_1_1/kernel is missing.*and 6 more$"):
        checkpoints.read_sizes(shapes)


def test_variables_of_something_else_are_refused(checkpoints):
    with pytest.raises(checkpoints.UsageError, match="model/dense_layer_1/W missing"):
        checkpoints.read_sizes({"layer/kernel": (3, 3)})


@pytest.mark.parametrize("text", ["11", "11x", "0x3", "3x-3", "3x3x3", "a x b", "100x100"])
def test_a_board_that_is_none_is_refused(checkpoints, text):
    with pytest.raises(checkpoints.UsageError, match="expected --board as WIDTHxHEIGHT"):
        checkpoints.parse_board(text)


# ------------------------------------------------------------------------------------------------------ no TensorFlow

HIDING = """
import importlib.machinery, runpy, sys
class Hidden:
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] == "tensorflow":
            if {folder}:
                return importlib.machinery.PathFinder.find_spec(name, [{root!r}])
            raise ModuleNotFoundError("No module named 'tensorflow'", name="tensorflow")
sys.meta_path.insert(0, Hidden)
script = sys.argv[1]
sys.argv[:1] = []
sys.path[0] = script.rpartition("/")[0]
runpy.run_path(script, run_name="__main__")
"""


@pytest.mark.parametrize("folder", [False, True], ids=["nothing", "only this project's folder"])
@pytest.mark.parametrize("script", [CONVERT, BACK, COMPARE], ids=lambda path: path.stem)
def test_without_tensorflow_one_sentence_says_how_to_install_it(tmp_path, script, folder):
    (tmp_path / "best_policy.model.index").touch()
    hiding = HIDING.format(folder=folder, root=str(ROOT))
    command = [sys.executable, "-c", hiding, script.as_posix(), tmp_path / "best_policy.model", tmp_path / "out.pt"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{script.name}: {INSTALL}\n"
    assert not (tmp_path / "out.pt").exists()


@pytest.mark.parametrize("script", [CONVERT, BACK, COMPARE], ids=lambda path: path.stem)
def test_a_python_without_any_package_gets_the_same_sentence(tmp_path, script):
    (tmp_path / "best_policy.model.index").touch()
    command = [sys.executable, "-S", script, tmp_path / "best_policy.model", tmp_path / "out.pt"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{script.name}: {INSTALL}\n")


def test_the_network_is_not_fooled_by_this_projects_folder():
    hiding = HIDING.format(folder=True, root=str(ROOT))
    script = (ROOT / "tensorflow" / "policy_value_net_tensorflow.py").as_posix()
    done = subprocess.run([sys.executable, "-c", hiding, script], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: {INSTALL}"


def test_a_checkpoint_that_is_not_there_is_told_in_a_sentence(tmp_path):
    code, out, err = run(CONVERT, tmp_path / "none.model", tmp_path / "out.pt")
    assert (code, out) == (2, "")
    assert err == (
        f"convert_tf2torch.py: expected a checkpoint such as best_policy.model, with a file {tmp_path}/none.model.index; "
        "there is none\n"
    )


# --------------------------------------------------------------------------------------------------------- TensorFlow


@needs_tensorflow
def test_tensorflow_is_the_real_one_from_the_root():
    code, out, _ = run("-c", "import importlib.util; print(importlib.util.find_spec('tensorflow').origin)")
    assert code == 0 and out.strip() != "None"
    assert not Path(out.strip()).is_relative_to(ROOT / "tensorflow")


@needs_tensorflow
def test_a_checkpoint_holds_the_network_and_after_a_training_step_the_optimiser(checkpoints, tensorflow, network, tmp_path):
    net = network(3, 3, 1)
    path = str(tmp_path / "new" / "best_policy.model")
    net.save_model(path)
    names = checkpoints.layout((3, 3), 1)
    held = tensorflow.train.load_checkpoint(path).get_variable_to_shape_map()
    assert {name: tuple(shape) for name, shape in held.items()} == {name: entry.shape for name, entry in names.items()}
    net.train_step(*batch(np.random.default_rng(1), 4, 3, 3), 1e-3)
    net.save_model(path)
    slots = {f"{name}/{slot}" for name in names if "moving" not in name for slot in ("Adam", "Adam_1")}
    held = tensorflow.train.load_checkpoint(path).get_variable_to_shape_map()
    assert set(held) == set(names) | slots | {"beta1_power", "beta2_power"}
    files = sorted(file.name for file in (tmp_path / "new").iterdir())
    assert files == ["best_policy.model.data-00000-of-00001", "best_policy.model.index"]


@needs_tensorflow
@pytest.mark.parametrize(("width", "height", "block"), ALL_SIZES)
def test_the_converted_weights_are_the_same_network(trained, reference, run_here, tmp_path, width, height, block):
    net, path = trained(width, height, block)
    out = tmp_path / "new" / "weights.pt"
    given = f"{path}.index" if block == 1 else path
    code, printed, err = (run if block == 1 else run_here)(CONVERT, given, out)
    assert (code, err) == (0, "")
    boards = f"{width}x{height}" if width == height else f"{width}x{height} or {height}x{width}"
    blocks = "1 block" if block == 1 else f"{block} blocks"
    variables, trainable = 20 + 12 * block, 16 + 8 * block
    assert printed == (
        f"{given}: board {boards}, {blocks}, {variables} variables; {2 * trainable + 2} of the optimiser skipped; "
        f"written to {out}\n"
    )
    model = reference.PolicyValueNetModel(width, height, block, 9)
    state = torch.load(out, weights_only=True)
    assert list(state) == list(model.state_dict())
    model.load_state_dict(state, strict=True)
    twin = reference.PolicyValueNet(width, height, block, init_model=str(out))
    compare = load("compare_tf_torch", TOOLKIT)
    numbers = np.random.default_rng(2)
    for draw in (compare.random_planes, compare.game_positions):
        states = draw(24, width, height, numbers)
        probs, value = net.policy_value(states, net.action_fc_test, net.evaluation_fc2_test)
        probs_torch, value_torch = twin.policy_value(states, twin.action_fc_test, twin.evaluation_fc2_test)
        assert probs.shape == (24, width * height)
        assert value.shape == (24, 1)
        assert np.ptp(value) > 1e-3
        assert probs.max() < 0.99
        assert np.abs(probs - probs_torch).max() < 1e-5
        assert np.abs(value - value_torch).max() < 1e-5


@needs_tensorflow
@pytest.mark.parametrize(
    ("name", "array", "told"),
    [
        ("bn_1/moving_mean", None, "is missing"),
        ("dense_layer_1/b", None, "is missing"),
        ("conv2d_4/bias", np.zeros(2, np.float32), "is extra"),
        ("conv2d_2/bias", np.zeros(3, np.float32), "has shape [3] in place of [2]"),
        ("conv2d_2/bias", np.full(2, np.nan, np.float32), "holds NaN or infinity"),
        ("conv2d_2/bias", np.zeros(2, np.float64), "holds float64"),
    ],
    ids=["missing", "missing head", "extra", "misshaped", "NaN", "double"],
)
def test_a_checkpoint_of_another_network_is_refused(checkpoints, tensorflow, tmp_path, monkeypatch, capsys, name, array, told):
    arrays = {name: np.ones(shape, np.float32) for name, shape in shapes_of(checkpoints).items()} | {f"model/{name}": array}
    path = tmp_path / "best_policy.model"
    write_checkpoint(tensorflow, path, {name: array for name, array in arrays.items() if array is not None})
    monkeypatch.setattr(sys, "argv", ["convert_tf2torch.py", str(path), str(tmp_path / "out.pt")])
    assert load("convert_tf2torch", TOOLKIT).main() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("convert_tf2torch.py: expected ")
    assert err.endswith(f" model/{name} {told}\n")
    assert err.count("\n") == 1
    assert not list(tmp_path.glob("out.pt*"))


@needs_tensorflow
@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_a_damaged_checkpoint_is_refused(checkpoints, trained, tmp_path, part):
    for file in trained(3, 3, 1)[1].parent.iterdir():
        shutil.copy(file, tmp_path)
    file = tmp_path / f"best_policy.model.{part}"
    file.write_bytes(file.read_bytes()[:1500])
    with pytest.raises(checkpoints.UsageError, match=r"^expected a readable checkpoint at [^\n]*$"):
        checkpoints.read_checkpoint(str(tmp_path / "best_policy.model"))


@pytest.fixture
def tree(tmp_path):
    """A student's tree: the framework's Board and tensorflow with the reference's network."""
    for name in ("Board", "tensorflow"):
        shutil.copytree(ROOT / name, tmp_path / "tree" / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(REFERENCE / "AlphaZero", tmp_path / "tree" / "AlphaZero", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "tree"


@needs_tensorflow
@pytest.mark.parametrize(("width", "height", "block"), ALL_SIZES)
def test_compare_finds_the_same_network(trained, reference, converted, run_here, width, height, block):
    _, path = trained(width, height, block)
    code, out, err = run_here(COMPARE, path, converted(path), "--positions", "8", "--board", f"{width}x{height}")
    assert (code, err) == (0, "")
    assert [line.split("  ")[0] for line in out.splitlines()[2:4]] == ["random planes", "positions of games"]
    assert "The same network: " in out
    assert "tolerance of 1e-04" in out


@needs_tensorflow
def test_compare_tells_another_network_and_refuses_what_is_none(trained, reference, converted, run_here):
    _, path = trained(3, 3, 1)
    weights = converted(path)
    state = torch.load(weights, weights_only=True)
    torch.save(state | {"flatten_layer_3.bias": state["flatten_layer_3.bias"] + 0.01}, weights)
    code, out, err = run_here(COMPARE, path, weights, "--positions", "8")
    assert (code, err) == (1, "")
    assert "NOT the same network: " in out
    torch.save(state | {"bn_1.weight": torch.ones(3)}, weights)
    code, out, err = run_here(COMPARE, path, weights)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "size mismatch for bn_1.weight" in err


@needs_tensorflow
def test_in_a_students_tree_compare_takes_the_network_of_the_student(trained, converted, tree):
    _, path = trained(3, 3, 1)
    compare, weights = tree / "tensorflow" / "toolkit" / COMPARE.name, converted(path)
    code, out, err = run(compare, path, weights, "--positions", "8", cwd=tree)
    assert (code, err) == (0, "") and "The same network: " in out
    shutil.copy(ROOT / "AlphaZero" / "policy_value_net_torch.py", tree / "AlphaZero")
    code, out, err = run(compare, path, weights, cwd=tree)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "your torch network comes first and is not written yet: AlphaZero/policy_value_net_torch.py" in err


def test_compare_refuses_a_file_that_holds_no_weights(checkpoints, tmp_path):
    module = load("compare_tf_torch", TOOLKIT)
    checkpoint = checkpoints.Checkpoint({}, [(3, 3)], 1, 0)
    with pytest.raises(checkpoints.UsageError, match="nothing is there"):
        module.evaluate_torch(str(tmp_path / "none.pt"), checkpoint, {})
    with pytest.raises(checkpoints.UsageError, match="expected a bare state_dict"):
        module.evaluate_torch(str(ROOT / "README.md"), checkpoint, {})


@needs_tensorflow
def test_compare_asks_which_side_is_the_width(trained, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["compare_tf_torch.py", str(trained(5, 4, 2)[1]), "any.pt"])
    assert load("compare_tf_torch", TOOLKIT).main() == 2
    assert "expected --board 5x4 or --board 4x5" in capsys.readouterr().err


# ------------------------------------------------------------------------------------------------- the network itself


@pytest.fixture
def twins(trained, converted, network, reference):
    """A TensorFlow and a torch network with the same weights."""

    def make(width, height, block):
        _, path = trained(width, height, block)
        ours = reference.PolicyValueNet(width, height, block, init_model=str(converted(path)))
        return network(width, height, block, init_model=str(path)), ours

    return make


@needs_tensorflow
@pytest.mark.parametrize(("width", "height", "block"), [(3, 3, 1), (5, 4, 2)])
def test_a_training_step_is_that_of_the_torch_network(twins, checkpoints, tmp_path, width, height, block):
    net, twin = twins(width, height, block)
    states, probs, winners = batch(np.random.default_rng(3), 32, width, height)
    loss, entropy = net.train_step(states, probs, winners, 1e-3)
    assert (loss, entropy) == pytest.approx(twin.train_step(states, probs, winners, 1e-3), abs=1e-5)
    assert isinstance(loss, float)
    net.save_model(str(tmp_path / "after"))
    after = checkpoints.read_checkpoint(str(tmp_path / "after")).arrays
    state = twin.model.state_dict()
    for name, entry in checkpoints.layout((width, height), block).items():
        difference = np.abs(after[name].transpose(entry.axes) - state[entry.key].numpy())
        if "moving" in name:
            assert difference.max() < 1e-5, name
        elif name.endswith(("kernel", "W", "gamma")):
            # Adam's first step is one learning rate long whatever the gradient, so where that is nearly 0 rounding decides.
            assert difference.mean() < 0.02 * 1e-3, name


@needs_tensorflow
@pytest.mark.parametrize(("width", "height", "block"), [(3, 3, 1), (5, 4, 2)])
def test_positions_are_valued_as_by_the_torch_network(twins, width, height, block):
    from Board.game_board import Board

    net, twin = twins(width, height, block)
    board = Board(width=width, height=height, n_in_row=3)
    for move in (4, 0, 7):
        board.do_move(move)
    for seed, method in enumerate(["policy_value_fn", *["policy_value_fn_random"] * 12]):
        answers = []
        for one in (net, twin):
            np.random.seed(seed)  # both draw the same symmetry
            pairs, value = getattr(one, method)(board, one.action_fc_test, one.evaluation_fc2_test)
            answers.append(dict(pairs) | {"value": float(value[0, 0])})
        assert list(answers[0]) == [*board.availables, "value"]
        assert answers[0] == pytest.approx(answers[1], abs=1e-5)


@needs_tensorflow
def test_weights_that_do_not_fit_are_refused_and_those_that_do_are_taken_over(checkpoints, trained, network, tmp_path):
    _, path = trained(3, 3, 1)
    with pytest.raises(FileNotFoundError, match="expected a checkpoint"):
        network(3, 3, 1, init_model=str(tmp_path / "none"))
    with pytest.raises(RuntimeError, match=r"misshaped: model/dense_layer_1/W, model/dense_layer_1/b, model/dense_layer_2/W$"):
        network(4, 4, 1, init_model=str(path))
    network(4, 4, 1, transfer_model=str(path)).save_model(str(tmp_path / "transferred"))
    old, new = (checkpoints.read_checkpoint(str(one)).arrays for one in (path, tmp_path / "transferred"))
    assert [name for name in old if not np.array_equal(old[name], new[name])] == [
        f"model/dense_layer_{name}" for name in ("1/W", "1/b", "2/W")
    ]
