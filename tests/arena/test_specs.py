"""How an agent is named on a command line."""

import pytest

from arena.engine.specs import check_size, parse_agent
from common.errors import UsageError


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("gomocup:nowhere", "nothing is there"),
        ("gomocup:", "expected the path of an engine, such as build/my_engine; got an empty name"),
        ("alphazero:nowhere.pt", "expected weights at nowhere.pt"),
        ("alphazero:", "expected weights at alphazero:FILE"),
        ("mcts:playouts=many", "playouts=400"),
        ("mcts:playouts=0", "playouts=N with N of at least"),
        ("mcts:playouts=1", "playouts=N with N of at least"),
        ("mcts:plies=3", "expected playouts=N"),
        ("mcts:400", "expected options such as"),
    ],
)
def test_an_agent_that_does_not_exist_gets_one_sentence(words, sentence):
    with pytest.raises(UsageError, match=sentence):
        parse_agent(words)


@pytest.mark.parametrize(
    ("query", "arguments"),
    [
        ("", []),
        ("?fast=no", []),
        ("?fast=yes", ["--fast"]),
        ("?backend=int8", ["--fast", "--backend", "int8"]),
        ("?fast=yes&backend=torch", ["--fast", "--backend", "torch"]),
    ],
)
def test_a_player_says_what_computes_its_network(tmp_path, query, arguments):
    weights = tmp_path / "weights.pt"
    weights.touch()
    assert list(parse_agent(f"alphazero:{weights}{query}").argv)[-2 - len(arguments) :] == ["--model", str(weights), *arguments]


@pytest.mark.parametrize("query", ["backend=int4", "fast=no&backend=int8"])
def test_a_backend_that_does_not_exist_or_is_not_used_is_refused(tmp_path, query):
    weights = tmp_path / "weights.pt"
    weights.touch()
    with pytest.raises(UsageError, match="expected backend=auto, torch, openvino or int8, without fast=no"):
        parse_agent(f"alphazero:{weights}?{query}")


def test_other_boards_are_for_agents_that_know_them(ours):
    with pytest.raises(UsageError, match="only size that"):
        check_size(ours, 9)
    check_size((parse_agent("mcts:playouts=3"), parse_agent("mcts:")), 9)
