"""Players are asked for every line of replies: what they may draw, what is decided once, and what need not be asked."""

import random

import numpy as np
import pytest

from Board.game_board import Board
from Board.symmetries import Symmetries
from training.exact import (
    RememberedBoard,
    board_after,
    can_be_lost,
    in_order,
    play_all_games,
    play_all_replies,
    remembered,
    searching_player_agent,
)

SIZE = (3, 3, 3)
ROWS = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def winner_of(line):
    """Tic-tac-toe of the test's own: 1 or 2 won, 0 drawn, None not over."""
    for player in (1, 2):
        if any(set(line[player - 1 :: 2]).issuperset(row) for row in ROWS):
            return player
    return 0 if len(line) == 9 else None


def endings(line):
    """The winners of all games that go on from here."""
    winner = winner_of(line)
    if winner is not None:
        return {winner}
    return set().union(*(endings((*line, move)) for move in range(9) if move not in line))


def open_lines(length, number, seed):
    """Random games of so many moves that are not over."""
    rng, found = random.Random(seed), set()
    while len(found) < number:
        line = tuple(rng.sample(range(9), length))
        if all(winner_of(line[:n]) is None for n in range(length + 1)):
            found.add(line)
    return sorted(found)


class Player:
    """Answers by a function of the board's line: a move, or several that are equally probable."""

    def __init__(self, choose, asked):
        self.choose, self.asked = choose, asked

    def set_player_ind(self, p):
        self.player = p

    def get_action(self, board, is_selfplay=False, print_probs_value=0):
        line = tuple(board.states)
        assert not is_selfplay and self.player == board.get_current_player()
        self.asked.append(line)
        moves = self.choose(line)
        probs = np.zeros(9)
        probs[moves] = 1 / len(moves)
        return moves[0], probs


def agent_of(choose, **options):
    asked = []
    return searching_player_agent(lambda: Player(choose, asked), **options), asked


def first_free(line):
    return [min(set(range(9)) - set(line))]


def first_or_last_free(line):
    free = sorted(set(range(9)) - set(line))
    return [free[0], free[-1]] if len(free) > 1 else free


def lost_by_some_choice(choose, seat, line=()):
    """Losing lines where every move that may be drawn is followed."""
    winner = winner_of(line)
    if winner is not None:
        return int(winner == 2 - seat)
    moves = choose(line) if len(line) % 2 == seat else set(range(9)) - set(line)
    return sum(lost_by_some_choice(choose, seat, (*line, move)) for move in moves)


@pytest.mark.parametrize("choose", [first_free, first_or_last_free])
def test_the_lost_lines_are_those_of_a_brute_force_over_every_move_that_may_be_drawn(choose):
    agent, asked = agent_of(choose)
    found = play_all_games(agent)
    expected = [lost_by_some_choice(choose, seat) for seat in (0, 1)]
    assert [found.first.losses, found.second.losses] == expected and min(expected) > 0
    assert len(asked) == len(set(asked))


def test_a_move_of_less_than_a_hundredth_is_not_followed():
    class Rare(Player):
        def get_action(self, board, is_selfplay=False, print_probs_value=0):
            move, probs = super().get_action(board)
            return move, probs * 0.991 + 0.009 * (np.arange(9) == max(board.availables))

    found = play_all_games(searching_player_agent(lambda: Rare(first_free, [])))
    lowest = play_all_replies(lambda lines: [first_free(line)[0] for line in lines])
    assert found.losing_lines == lowest.losing_lines


@pytest.mark.parametrize("length", [4, 5, 6, 7])
def test_a_game_can_be_lost_if_some_way_on_loses_it(length):
    answers = set()
    for line in open_lines(length, 40, seed=length):
        for seat in (0, 1):
            answers.add(can_be_lost(in_order(line), seat, SIZE))
            assert can_be_lost(in_order(line), seat, SIZE) == (2 - seat in endings(line)), (line, seat)
    assert answers == ({True, False} if length > 4 else {True})


def test_a_player_is_not_asked_where_no_reply_can_win():
    agent, asked = agent_of(first_or_last_free)
    play_all_games(agent)
    assert asked and all(2 - len(line) % 2 in endings(line) for line in asked)


def test_lines_that_are_images_of_each_other_are_decided_once_and_alike():
    agent, asked = agent_of(first_free, alike=True)
    line = (0, 4, 1)
    (moves,) = agent([line])
    for image in Symmetries(3, 3).moves.tolist():
        assert agent([tuple(image[move] for move in line)]) == [[image[move] for move in moves]]
    assert len(asked) == 1
    apart, asked_apart = agent_of(first_free)
    play_all_games(agent)
    play_all_games(apart)
    assert 2 * len(asked) < len(asked_apart)


@pytest.mark.parametrize("size", [SIZE, (5, 4, 4)])
def test_a_board_that_remembers_is_a_board_whichever_way_it_came_to_a_position(size):
    beginning, rng = RememberedBoard(*size), random.Random(1)
    beginning.init_board()
    for _ in range(40):
        remembering, plain = beginning.copy(), Board(*size)
        plain.init_board()
        while not plain.game_end()[0]:
            before, move = remembering.copy(), rng.choice(plain.availables[:4])
            remembering.do_move(move)
            plain.do_move(move)
            for name in ("states", "availables", "states_sequence", "current_player", "last_move"):
                assert getattr(remembering, name) == getattr(plain, name)
            assert remembering.game_end() == plain.game_end()
            assert np.array_equal(remembering.current_state(), plain.current_state())
            assert move in before.availables and len(before.states) == len(plain.states) - 1
            with pytest.raises(ValueError, match="is taken"):
                remembering.do_move(move)
            assert remembering.states == plain.states
    assert beginning.after((4, 0)).states == {4: 1, 0: 2}
    assert beginning.availables == list(range(size[0] * size[1]))


def test_an_evaluation_is_drawn_once_for_each_line():
    rng = np.random.default_rng(1)
    recall = remembered(lambda board, *handles: (zip(board.availables, rng.random(9), strict=False), rng.random()))

    def ask(*line):
        priors, value = recall(board_after(line, SIZE), 2, 3)
        return list(priors), value

    first = ask(4, 0)
    assert len(first[0]) == 7 and ask(4, 0) == first
    assert ask(0, 4) != first and ask(4, 0) == first


def test_an_evaluation_that_a_search_changes_in_place_is_remembered_as_it_was():
    """`value *= -1` in a backup changes the array that the network returned."""
    recall = remembered(lambda board, *handles: (zip(board.availables, np.ones(9), strict=False), np.array([[0.25]])))
    for _ in range(2):
        _, value = recall(board_after((4,), SIZE), 2, 3)
        assert value == 0.25
        value *= -1
