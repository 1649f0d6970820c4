"""The rules of NoGo, compared with their definition."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
from nogo_brute_force import BruteForce
from nogo_by_definition import legal_moves

from games.nogo.rules import NoGoRules

LONG = pytest.mark.thorough("minutes on larger boards")


def lines_by_definition(width, height, depth):
    """The numbers of lines of 1, 2, ... moves; lines that lead to the same position are counted together."""
    layer, player, counts = Counter({(0,) * (width * height): 1}), 1, []
    while layer and len(counts) < depth:
        after = Counter()
        for stones, count in layer.items():
            for move in legal_moves(stones, player, width, height):
                after[(*stones[:move], player, *stones[move + 1 :])] += count
        counts.append(after.total())
        layer, player = after, 3 - player
    return tuple(counts)


def lines(position, depth):
    """The same numbers by the game's own code."""
    layer, counts = {0: (position, 1)}, []
    while layer and len(counts) < depth:
        after = {}
        for before, count in layer.values():
            for move in before.availables:
                following = before.copy()
                following.do_move(move)
                key = following.stones(1), following.stones(2)
                after[key] = following, count + (after[key][1] if key in after else 0)
        counts.append(sum(count for _, count in after.values()))
        layer = after
    return tuple(counts)


@pytest.mark.parametrize(
    ("width", "height", "counts"),
    [
        (1, 1, (0,)),
        (2, 1, (2, 0)),
        (2, 2, (4, 12, 16, 0)),
        (3, 2, (6, 30, 112, 264, 216, 0)),
        (3, 3, (9, 72, 496, 2832, 12768, 41328, 80352, 43776, 0)),
        (4, 3, (12, 132, 1312, 11592)),
        (4, 4, (16, 240, 3352)),
    ],
)
def test_there_are_as_many_lines_as_the_definition_says(width, height, counts):
    found = lines(NoGoRules(width, height).position(), len(counts))
    assert found == lines_by_definition(width, height, len(counts)) == counts


def first_player_wins_by_definition(width, height):
    @cache
    def wins(stones, player):
        return any(
            not wins((*stones[:move], player, *stones[move + 1 :]), 3 - player)
            for move in legal_moves(stones, player, width, height)
        )

    return wins((0,) * (width * height), 1)


def first_player_wins(position, turns, known):
    """Solve a position with a table of results, in which positions that are turned or mirrored are one."""
    over, winner = position.game_end()
    if over:
        return winner == 1
    own, others = (position.grid.moves(position.stones(player)) for player in (1, 2))
    key = min(tuple(sum(1 << turn[move] for move in side) for side in (own, others)) for turn in turns)
    if key not in known:
        player = position.get_current_player()
        known[key] = player != 1
        for move in position.availables:
            after = position.copy()
            after.do_move(move)
            if first_player_wins(after, turns, known) == (player == 1):
                known[key] = player == 1
                break
    return known[key]


def solved(width, height):
    rules = NoGoRules(width, height)
    return first_player_wins(rules.position(), rules.symmetries.moves.tolist(), {})


@pytest.mark.parametrize(("width", "height"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (4, 2), (3, 3)])
def test_small_boards_have_the_winner_of_the_definition(width, height):
    assert solved(width, height) == first_player_wins_by_definition(width, height) == BruteForce(width, height).wins()


@pytest.mark.parametrize(
    ("width", "height", "first"),
    [(4, 3, False), pytest.param(3, 4, False, marks=LONG), pytest.param(4, 4, False, marks=LONG)],
)
def test_larger_boards_have_the_winner_of_an_independent_brute_force(width, height, first):
    assert solved(width, height) == BruteForce(width, height).wins() == first


@pytest.mark.parametrize(
    ("width", "height", "depth"), [(4, 3, 5), pytest.param(4, 3, 13, marks=LONG), pytest.param(4, 4, 6, marks=LONG)]
)
def test_there_are_as_many_lines_as_an_independent_brute_force_counts(width, height, depth):
    counts = BruteForce(width, height).lines(depth)
    print(width, height, counts)
    assert lines(NoGoRules(width, height).position(), depth) == counts


def position_of(picture):
    """A position from rows of X (player 1), O and dots, the top row first, with player 1 to move."""
    rows = picture.split()
    position = NoGoRules(len(rows[0]), len(rows)).position()
    stones = {"X": [], "O": []}
    for h, row in enumerate(reversed(rows)):
        for w, letter in enumerate(row):
            if letter != ".":
                stones[letter].append(h * len(row) + w)
    assert len(stones["X"]) == len(stones["O"])
    for pair in zip(stones["X"], stones["O"], strict=True):
        for move in pair:
            position.do_move(move)
    return position


def test_captures_and_suicides_are_refused_and_change_nothing():
    position = position_of(
        """
        .OX.
        OX..
        X.O.
        ....
        """
    )
    before = position.current_state()
    corner = NoGoRules(4, 4).action_of("a4")
    assert corner not in position.availables  # for X a suicide that would also capture
    with pytest.raises(ValueError, match="not legal"):
        position.do_move(corner)
    with pytest.raises(ValueError, match="taken"):
        position.do_move(NoGoRules(4, 4).action_of("b4"))
    with pytest.raises(ValueError, match="16"):
        position.do_move(16)
    assert np.array_equal(position.current_state(), before) and position.get_current_player() == 1


def test_whoever_has_no_move_loses():
    position = NoGoRules(2, 2).position()
    for move in (0, 3, 1):
        assert position.game_end() == (False, -1)
        position.do_move(move)
    assert position.availables == [] and position.game_end() == position.has_a_winner() == (True, 1)


def test_planes_show_own_stones_others_the_last_move_and_who_began():
    rules = NoGoRules(3, 2)
    position = rules.position()
    assert position.current_state()[3].all()
    position.do_move(rules.action_of("c2"))
    position.do_move(rules.action_of("A1"))
    position.do_move(rules.action_of("a2"))
    own, others, last, began = position.current_state()
    assert own.tolist() == [[0, 0, 0], [1, 0, 0]]
    assert others.tolist() == [[1, 0, 1], [0, 0, 0]]
    assert last.tolist() == [[1, 0, 0], [0, 0, 0]]
    assert not began.any()
    assert rules.text(position).splitlines() == ["  2 (X) .  X", "  1  O  .  .", "     a  b  c"]
