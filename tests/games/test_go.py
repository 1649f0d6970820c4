"""The rules of Go: what OpenSpiel does not say, and solved boards."""

import numpy as np
import pytest

from games.go.rules import GoRules
from games.protocol import NO_MOVE, NOBODY, result_for


def play(rules, names, depth_limit=0):
    position = rules.position()
    for name in names.split():
        position.do_move(rules.action_of(name))
    return position.for_search(depth_limit) if depth_limit else position


def can_force(position, player, margin, depth, known):
    """Whether a player can reach a score of at least `margin` in his favour with at most `depth` actions.

    `known` remembers earlier results, which is right only without superko; None remembers nothing.
    """
    over, _ = position.game_end()
    sign = 1 if player == 1 else -1
    if over or depth == 0:
        return over and sign * position.score() >= margin
    place = (position.stones(1), position.stones(2), position.ko_point, depth)
    place += (position.current_player, position.last_move == position.pass_action)
    if known is not None and place in known:
        return known[place]
    replies = []
    for action in reversed(position.availables):
        replies.append(position.copy())
        replies[-1].do_move(action)
    mine = position.current_player == player
    replies.sort(key=lambda reply: sign * reply.score(), reverse=mine)
    result = (any if mine else all)(can_force(reply, player, margin, depth - 1, known) for reply in replies)
    if known is not None:
        known[place] = result
    return result


def test_black_wins_2x2_by_one_point_and_not_by_more():
    """The value under positional superko (Tromp and Farneback 2007, Combinatorics of Go)."""
    rules = GoRules(2, 2, komi=0, superko=True)
    assert can_force(rules.position(), 1, 1, 12, None)
    assert can_force(rules.position(), 2, -1, 10, None)


def test_black_wins_the_whole_3x3_board():
    """By 9 points (van der Werf et al. 2003, Solving Go on small boards)."""
    assert can_force(GoRules(3, 3, komi=0).position(), 1, 9, 16, {})


KO = "b3 c3 a2 d2 b1 c1 c2 b2"  # white has just taken the ko at b2


def test_a_ko_may_not_be_taken_back_at_once_but_after_two_other_moves():
    rules = GoRules(4, 4)
    position = play(rules, KO)
    assert rules.action_name(position.ko_point) == "c2" and position.captures == {1: 0, 2: 1}
    with pytest.raises(ValueError, match="not legal"):
        position.do_move(rules.action_of("c2"))
    for name in ("d4", "a4"):
        position.do_move(rules.action_of(name))
    assert position.ko_point == NO_MOVE
    position.do_move(rules.action_of("c2"))
    assert rules.action_of("b2") not in position.states and position.captures == {1: 1, 2: 1}


def test_positional_superko_refuses_what_repeats_an_earlier_arrangement():
    line = "a1 b1 a2 b2 a1 a2"  # black's a1 would capture everything, as after the first move
    simple, strict = play(GoRules(2, 2), line), play(GoRules(2, 2, superko=True), line)
    assert simple.availables == [0, 4] and strict.availables == [4]
    with pytest.raises(ValueError, match="not legal"):
        strict.do_move(0)


def test_two_passes_end_a_game_and_the_area_decides():
    rules = GoRules(4, 4, komi=0.5)
    position = play(rules, "b1 c1 b2 c2 b3 c3 b4 c4 pass PASS")
    assert position.availables == [] and position.score() == -0.5
    assert position.game_end() == (True, 2) and (result_for(position, 1), result_for(position, 2)) == (-1.0, 1.0)
    with pytest.raises(ValueError, match="not over"):
        position.do_move(rules.pass_action)
    even = play(GoRules(4, 4, komi=0), "b1 c1 b2 c2 b3 c3 b4 c4 pass pass")
    assert even.game_end() == (True, NOBODY) and result_for(even, 1) == 0.0
    assert even.has_a_winner() == (False, NOBODY)


def test_a_long_game_ends_at_the_move_limit_and_counts():
    rules = GoRules(3, 3, komi=0.5, move_limit=2)
    assert play(rules, "b2").game_end() == (False, NOBODY)
    assert play(rules, "b2 pass").game_end() == (True, 1) and rules.longest_game == 2


NOT_SETTLED = "b1 c1 b2 c2 b4 c4"  # b3 and c3 belong to nobody
SETTLED = NOT_SETTLED + " b3 c3"


def test_a_search_takes_two_passes_back_while_a_point_is_worth_playing():
    rules = GoRules(4, 4, komi=0.5)
    position = play(rules, NOT_SETTLED, depth_limit=6)
    position.do_move(rules.pass_action)
    twin = position.copy()
    twin.do_move(rules.pass_action)
    assert twin.game_end() == (False, NOBODY) and twin.get_current_player() == 1 and len(twin.availables) > 1
    twin.do_move(rules.pass_action)  # a first pass again
    assert twin.game_end() == (False, NOBODY)
    real = play(rules, NOT_SETTLED + " pass pass")
    assert real.game_end() == (True, 2)


def test_a_search_ends_with_two_passes_when_every_point_belongs_to_someone():
    rules = GoRules(4, 4, komi=0.5)
    position = play(rules, SETTLED + " pass", depth_limit=6)
    assert position.points_worth_playing() == 0
    position.do_move(rules.pass_action)  # answers a real pass
    assert position.game_end() == (True, 2)


def test_taking_passes_back_brings_the_ko_back():
    rules = GoRules(4, 4)
    position, batch = play(rules, KO, depth_limit=6), rules.batch(1)
    for move in position.moves:
        batch.play([move])
    batch = batch.for_search(6)
    for _ in range(2):
        position.do_move(rules.pass_action)
        batch.play([rules.pass_action])
    assert rules.action_name(position.ko_point) == "c2"
    assert np.flatnonzero(batch.legal[0]).tolist() == position.availables


def test_a_new_search_from_the_depth_limit_of_another_one_goes_on():
    batch = GoRules(4, 4).batch(1).for_search(2)
    for move in (0, 15):
        batch.play([move])
    assert batch.over.all()
    for limit in (0, 4):
        again = batch.for_search(limit)
        assert not again.over.any()
        again.play([5])
    over = GoRules(4, 4, komi=0.5).batch(1)
    for _ in range(2):
        over.play([16])
    assert over.for_search(4).over.all() and over.for_search(0).winner.tolist() == [2]


def test_a_search_that_reaches_the_depth_limit_is_a_draw():
    rules = GoRules(4, 4, komi=0.5)
    position = play(rules, NOT_SETTLED, depth_limit=3)
    for name in ("pass", "pass", "b3"):
        assert position.game_end() == (False, NOBODY)
        position.do_move(rules.action_of(name))
    assert position.game_end() == (True, NOBODY) and position.availables == []


def test_planes_show_stones_in_atari_forbidden_points_the_last_move_and_passes():
    rules = GoRules(4, 4)
    others, own, others_in_atari, own_in_atari, forbidden, last, passed, black = play(rules, KO).current_state()
    assert others[:, 1].tolist() == [0, 0, 1, 0] and own.sum() == 3 and others.sum() == 4
    assert others_in_atari.sum() == 1 and others_in_atari[2, 1] == 1
    assert np.argwhere(own_in_atari).tolist() == [[3, 1]]
    assert np.argwhere(forbidden).tolist() == [[2, 2], [3, 3]]  # the ko, and a suicide
    assert np.argwhere(last).tolist() == [[2, 1]]
    assert not passed.any() and black.all()
    state = play(rules, KO + " pass").current_state()
    assert not state[5].any() and state[6].all() and not state[7].any()
