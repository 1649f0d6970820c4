"""What the programs say of a network whose layers have wrong shapes, and that other errors stay the student's own."""

import importlib

import pytest
import torch
from torch import nn

from training.look.__main__ import main as look
from training.losing_lines import main as losing_lines

OTHER_SHAPE = "shape [1, 64, 5, 5]; expected [1, 64, 7, 7]. Look at it and at"
FIRST_LAYER = f"The first layer whose output differs is conv2d_1: {OTHER_SHAPE} its input."


def short_of_padding(model):
    model.conv2d_1 = nn.Conv2d(9, 64, 1, padding=1)


@pytest.fixture
def change_layers(run_file, monkeypatch):
    """Return a function that changes each network of the workspace after its layers were made."""

    def change(how):
        model = importlib.import_module("AlphaZero.policy_value_net_torch").PolicyValueNetModel
        make = model.__init__

        def made(self, *sizes):
            make(self, *sizes)
            how(self)

        monkeypatch.setattr(model, "__init__", made)

    return change


@pytest.mark.parametrize("program", [["train.py", "--games", 1], ["human_play.py", "--terminal"]])
def test_a_layer_of_another_shape_is_named_with_the_line_that_fails(change_layers, refusal, program):
    change_layers(short_of_padding)
    sentence = refusal(*program)
    assert "the network cannot evaluate the board 3x3 (AlphaZero/policy_value_net_torch.py, line " in sentence
    assert sentence.endswith(f": mat1 and mat2 shapes cannot be multiplied (1x50 and 98x9)). {FIRST_LAYER}")


@pytest.mark.parametrize(("main", "arguments"), [(losing_lines, ["model/3_3_3.model"]), (look, [])])
def test_the_programs_that_look_at_a_search_name_it_too(change_layers, workspace, monkeypatch, capsys, main, arguments):
    change_layers(short_of_padding)
    monkeypatch.chdir(workspace)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.endswith(f"{FIRST_LAYER}\n") and said.count("\n") == 1


def second_convolution(model):
    model.resnet[0][3] = nn.Conv2d(64, 64, 3)


def too_few_inputs(model):
    model.dense_layer_1 = nn.Linear(50, 9)


def too_many_outputs(model):
    model.dense_layer_1 = nn.Linear(98, 49)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        (second_convolution, f"is resnet.0.3: {OTHER_SHAPE} what happens after resnet.0.1."),
        (too_few_inputs, "(1x98 and 50x9)). dense_layer_1.weight has shape [9, 50]; expected [9, 98]."),
        (too_many_outputs, "(it returns 49 probabilities for 9 points). The first layer whose output differs is dense_layer_1"),
    ],
)
def test_other_wrong_shapes_are_named(change_layers, refusal, how, words):
    change_layers(how)
    assert words in refusal("train.py", "--games", 1)


def test_a_network_of_other_shapes_that_works_is_trained(change_layers, call):
    def narrower(model):
        short_of_padding(model)
        model.dense_layer_1, model.dense_layer_2 = nn.Linear(50, 9), nn.Linear(25, 256)

    change_layers(narrower)
    assert call("train.py", "--games", 1)[0] == 0


def misspelt(model):
    short_of_padding(model)
    del model.dense_layer_1


def refusing(model):
    model.conv2d_2.register_forward_hook(lambda *_: torch.zeros(2).view(3))


@pytest.mark.parametrize(
    ("how", "error", "words"), [(misspelt, AttributeError, "dense_layer_1"), (refusing, RuntimeError, "invalid for input")]
)
def test_an_error_that_no_shape_explains_is_raised_as_it_is(change_layers, run_file, monkeypatch, how, error, words):
    change_layers(how)
    monkeypatch.setattr("sys.argv", ["train.py", "--games", "1"])
    with pytest.raises(error, match=words):
        run_file("train.py", "__main__")
