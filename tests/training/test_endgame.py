"""The exact end of a game: against solvers that share none of its code, and for the player that uses it."""

from functools import cache

import numpy as np
import pytest
import torch

from common.errors import UsageError
from games.go.rules import GoRules
from games.gomoku.rules import GomokuRules
from games.nogo.rules import NoGoRules
from tests.games.nogo_brute_force import BruteForce
from training.inference.networks import new_model
from training.search.endgame import EndgameSolver
from training.single_game import END_ACTIONS, AgentPlayer, make_agent_player

PLENTY = 10**6
ROWS = [{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}]
LOST_GAMES = [  # of the shipped network with 1600 playouts against UCT: the first moves, up to a won position
    "72 0 8 10 18 27 4 6 1 11 80 78 62 53 77 61 36 46 69 79 15 12 35 26 75 74 67 68 56 66 58 64 51 3 54 49 73 55 32 45 "
    "21 42 23 22 40 38 33 24 5 28 16 14 30 29 34 25 52 44 57",
    "8 80 72 70 0 62 79 69 61 44 45 52 43 68 3 50 76 58 18 9 35 51 49 16 66 77 74 73 65 59 28 36 5 4 24 33 67 41 32 29 "
    "56 21 17 26 15 6 47 39 20 27 54 64 46 57 40 55 48 31 22 38",
]


@cache
def tictactoe(own, other):
    """The value for the side to move, whose stones are `own`."""
    if any(row <= other for row in ROWS):
        return -1
    left = set(range(9)) - own - other
    return max((-tictactoe(other, own | {point}) for point in left), default=0)


def drawn_positions(rules, number, seed):
    """Positions of random games, with at least one legal action."""
    rng = np.random.default_rng(seed)
    while number:
        position = rules.position()
        position.init_board()
        for _ in range(rng.integers(rules.actions // 3, rules.actions)):
            if position.game_end()[0]:
                break
            position.do_move(int(rng.choice(position.availables)))
        if not position.game_end()[0]:
            number -= 1
            yield position


def stones(position):
    """(the points of the side to move, those of the other one)"""
    own = {point for point, player in position.states.items() if player == position.current_player}
    return frozenset(own), frozenset(position.states.keys() - own)


def test_tictactoe_has_its_known_values():
    empty, solver = GomokuRules(3, 3, 3).position(), EndgameSolver(PLENTY)
    empty.init_board()
    values = {solver.solve(empty)[0]}
    assert values == {0}
    for position in drawn_positions(GomokuRules(3, 3, 3), 300, seed=1):
        own, other = stones(position)
        value, action = solver.solve(position)
        assert value == tictactoe(own, other) == -tictactoe(other, own | {action})
        assert stones(position) == (own, other)
        values.add(value)
    assert values == {-1, 0, 1}


@pytest.mark.parametrize(("width", "height"), [(3, 3), (4, 3), (4, 4)])
def test_nogo_is_solved_as_by_brute_force(width, height):
    solver, brute_force, values = EndgameSolver(PLENTY), BruteForce(width, height), set()
    for position in drawn_positions(NoGoRules(width, height), 200, seed=2):
        own, other = (sum(1 << point for point in points) for points in stones(position))
        value, action = solver.solve(position)
        assert value == (1 if brute_force.wins(own, other) else -1) and action in brute_force.moves(own, other)
        assert value == -1 or not brute_force.wins(other, own | 1 << action)
        values.add(value)
    assert values == {-1, 1}


def test_a_game_is_solved_from_its_first_move():
    for size in ((2, 2), (3, 3), (4, 3)):
        assert EndgameSolver(PLENTY).solve(NoGoRules(*size).position())[0] == (1 if BruteForce(*size).wins() else -1), size


def test_it_gives_up_after_so_many_positions_and_goes_on_from_what_it_has_learnt():
    empty, solver = NoGoRules(4, 3).position(), EndgameSolver(1000)
    answers = [solver.solve(empty)]
    while answers[-1] is None and len(answers) < 100:
        answers.append(solver.solve(empty))
    assert 2 < len(answers) < 100 and answers[-1] == solver.solve(empty)
    assert answers[-1][0] == EndgameSolver(PLENTY).solve(empty)[0]


def test_a_game_that_is_over_has_nothing_to_solve():
    position = GomokuRules(3, 3, 3).position()
    position.init_board()
    for move in (0, 3, 1, 4, 2):
        position.do_move(move)
    with pytest.raises(ValueError, match="it is over"):
        EndgameSolver(9).solve(position)


class Last:
    """An agent that always plays the last legal move, and counts how often it was asked."""

    def __init__(self):
        self.asked = 0

    def choose(self, boards):
        self.asked += 1
        return boards.legal.shape[1] - 1 - boards.legal[:, ::-1].argmax(axis=1)


@pytest.mark.parametrize("moves", LOST_GAMES)
def test_a_player_wins_the_ends_that_a_network_lost(moves):
    """Against every reply of random games, from positions of real games that the shipped network lost."""
    rules, rng = NoGoRules(9, 9), np.random.default_rng(3)
    for _ in range(5):
        position, agent = rules.position(), Last()
        for move in moves.split():
            position.do_move(int(move))
        us, player = position.current_player, AgentPlayer(agent, rules, 200_000)
        while not position.game_end()[0]:
            ours = position.current_player == us
            position.do_move(player.get_action(position)[0] if ours else int(rng.choice(position.availables)))
        assert position.game_end() == (True, us) and agent.asked == 0


def test_a_player_asks_its_agent_in_lost_ends_and_where_much_is_left():
    rules, agent = NoGoRules(2, 3), Last()
    player, position = AgentPlayer(agent, rules, 1000), rules.position()
    lost = next(each for each in drawn_positions(rules, 100, seed=1) if EndgameSolver(PLENTY).solve(each)[0] == -1)
    assert player.get_action(lost)[0] == lost.availables[-1] and agent.asked == 1
    large = NoGoRules(5, 5)
    assert len(large.position().availables) > END_ACTIONS
    assert AgentPlayer(agent, large, 1000).get_action(large.position()) == (24, None) and agent.asked == 2
    AgentPlayer(agent, rules).get_action(position)
    assert agent.asked == 3


@pytest.fixture
def weights(tmp_path):
    torch.manual_seed(1)
    for rules in (NoGoRules(5, 5), GoRules(5, 5)):
        torch.save(new_model("residual", rules, 1, 8).state_dict(), tmp_path / f"{rules.name}.model")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "positions"), [("?playouts=4", 50_000), ("?playouts=4&endgame=70", 70), ("?endgame=0", 0), ("", 50_000)]
)
def test_a_description_says_how_far_a_player_solves(weights, options, positions, monkeypatch):
    made = []
    monkeypatch.setattr("training.single_game.EndgameSolver", lambda number: made.append(number))
    player = make_agent_player(f"gumbel:{weights / 'nogo.model'}{options}", NoGoRules(5, 5), np.random.default_rng(1), "torch")
    assert made == [positions] * (positions > 0) and player.computed_by.startswith("torch")


@pytest.mark.parametrize(
    ("text", "rules", "sentence"),
    [
        ("gumbel:{}/nogo.model?endgame=many", NoGoRules(5, 5), "expected endgame=N with a number of positions, or 0, .*'many'"),
        ("gumbel:{}/nogo.model?endgame=-1", NoGoRules(5, 5), "got '-1'"),
        ("policy:{}/nogo.model?endgame=9", NoGoRules(5, 5), "expected no option but backend"),
        ("gumbel:{}/go.model?endgame=9", GoRules(5, 5), "expected playouts=N"),
    ],
)
def test_what_cannot_be_solved_is_refused(weights, text, rules, sentence):
    with pytest.raises(UsageError, match=sentence):
        make_agent_player(text.format(weights), rules, np.random.default_rng(1), "torch")
