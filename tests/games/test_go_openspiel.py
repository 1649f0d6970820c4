"""The rules of Go, compared with OpenSpiel's on random games: legal moves, stones, ko, repetitions and scores."""

import os
import random

import pytest

from games.go.rules import GoRules
from games.protocol import NO_MOVE

pyspiel = pytest.importorskip("pyspiel", reason="open_spiel is not installed (requirements-test.txt)")

LONG = 10_000
SIZES = (2, 3, 4, 5, 6, 7, 9)


def new_state(size, komi):
    return pyspiel.load_game(f"go(board_size={size},komi={komi},max_game_length={LONG})").new_initial_state()


def stones_of(state, size):
    """dict point -> player, read from the state's drawing."""
    rows = [line.split()[1] for line in str(state).splitlines() if line.strip()[:1].isdigit()]
    assert len(rows) == size
    return {
        h * size + w: "XO".index(letter) + 1
        for h, row in enumerate(reversed(rows))
        for w, letter in enumerate(row)
        if letter != "+"
    }


def is_repetition(state, pass_action):
    """Whether a game ended because a position came again, which OpenSpiel counts as a draw."""
    return state.is_terminal() and state.history()[-2:] != [pass_action] * 2 and state.returns()[0] == 0


def black_wins(actions, size, komi):
    state = new_state(size, komi)
    for action in [*actions, size * size, size * size]:
        state.apply_action(action)
    return state.returns()[0] == 1


def compare_game(size, rng):
    """Play one random game by both rules; return the numbers of positions, captures, kos, repetitions and exact scores."""
    komi = rng.randint(-size * size, size * size) + 0.5
    rules, strict = (GoRules(size, size, komi, superko, move_limit=LONG) for superko in (False, True))
    position, without_repetitions = rules.position(), strict.position()
    state = new_state(size, komi)
    counts = dict.fromkeys(("positions", "captures", "kos", "repetitions", "scores"), 0)
    passes = rng.choice((0, 0.02, 0.1))
    while True:
        counts["positions"] += 1
        assert position.availables == state.legal_actions()
        assert position.states == stones_of(state, size)
        repeating = set(position.availables) - set(without_repetitions.availables)
        for action in repeating:
            assert is_repetition(state.child(action), rules.pass_action)
        ended = state.child(rules.pass_action)
        if not ended.is_terminal():
            ended.apply_action(rules.pass_action)
        assert (ended.returns()[0] == 1) == (position.score() > 0)
        if rng.random() < 0.02 and position.moves[-1:] != [rules.pass_action]:
            score = round(position.score() + komi)
            assert black_wins(position.moves, size, score - 0.5) and not black_wins(position.moves, size, score + 0.5)
            counts["scores"] += 1
        points = position.availables[:-1]
        action = rng.choice(points) if points and rng.random() >= passes else rules.pass_action
        before = len(position.states)
        state.apply_action(action)
        position.do_move(action)
        counts["kos"] += position.ko_point != NO_MOVE
        counts["captures"] += action != rules.pass_action and len(position.states) != before + 1
        if is_repetition(state, rules.pass_action):
            assert action in repeating
            counts["repetitions"] += 1
            return counts
        assert action not in repeating
        without_repetitions.do_move(action)
        over, winner = position.game_end()
        assert over == state.is_terminal()
        if over:
            assert (winner == 1) == (state.returns()[0] == 1)
            return counts


def compare_games(positions, seed, sizes=SIZES):
    rng = random.Random(seed)
    totals = dict.fromkeys(("positions", "captures", "kos", "repetitions", "scores"), 0)
    while totals["positions"] < positions:
        for name, count in compare_game(rng.choice(sizes), rng).items():
            totals[name] += count
    return totals


def test_random_games_agree_with_openspiel():
    """1200 positions, and 100,000 with TRUST=all."""
    totals = compare_games(positions=100_000 if os.environ.get("TRUST") == "all" else 1200, seed=1)
    print(totals)
    assert totals["captures"] > 100 and totals["kos"] > 5 and totals["repetitions"] > 1 and totals["scores"] > 10
