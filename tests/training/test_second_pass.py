"""An agent's answer to a pass: the count says what the search of Go takes back and a network may not have learnt."""

import numpy as np
import pytest

from games.go.rules import GoRules
from games.nogo.rules import NoGoRules
from training.matches import PolicyAgent, SearchAgent
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.second_pass import answer_passes

PASS = 16
FOUR_TO_THREE = "b1 c1 b2 c2 b4 c4 a1"  # black has four stones, white three; all empty points belong to nobody


def after(rules, names):
    boards = rules.batch(1)
    for name in names.split():
        boards.play([rules.action_of(name)])
    return boards


def thinks(of_passing):
    """A network that thinks of nothing but the pass, or never of it, and takes every position for even."""

    def evaluate(states):
        probs = np.full((len(states), PASS + 1), 0.01 if of_passing else 1 / PASS, dtype=np.float32)
        probs[:, PASS] = 0.84 if of_passing else 0
        return probs, np.zeros(len(states), dtype=np.float32)

    return evaluate


AGENTS = {
    "policy": PolicyAgent,
    "puct": lambda evaluate: SearchAgent(evaluate, PuctSettings(40, search_depth=12), np.random.default_rng(1)),
    "gumbel": lambda evaluate: SearchAgent(evaluate, GumbelSettings(24, 17, search_depth=12), np.random.default_rng(1)),
}


@pytest.mark.parametrize("of_passing", [False, True], ids=["points", "passes"])
@pytest.mark.parametrize("kind", AGENTS)
def test_an_agent_answers_a_pass_by_a_pass_if_that_wins_and_not_if_it_loses(kind, of_passing):
    agent = AGENTS[kind](thinks(of_passing))
    winning, losing = (after(GoRules(4, 4, komi), f"{FOUR_TO_THREE} pass") for komi in (0.5, 1.5))
    assert agent.choose(winning) == [PASS]
    move = agent.choose(losing)
    assert move != [PASS] and losing.legal[0, move[0]]


def test_nothing_changes_where_no_pass_ends_the_game():
    boards = after(GoRules(4, 4), FOUR_TO_THREE)
    assert answer_passes(boards, np.array([PASS]), np.ones((1, PASS + 1))) == [PASS]
    nogo = after(NoGoRules(3, 3), "a1")
    assert answer_passes(nogo, np.array([4]), np.ones((1, 9))) == [4]
