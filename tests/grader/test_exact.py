"""Losing lines are counted exactly: against a brute force of its own, and for agents that misbehave; and the program."""

import subprocess
import sys
from functools import cache
from random import Random

import numpy as np
import pytest
import torch

from grader.assignment import ROOT
from grader.judge.support.board_position import board_at
from grader.judge.support.drawn_positions import random_position
from grader.judge.support.drawn_weights import random_weights
from grader.judge.trusted import agents as exact
from grader.judge.trusted.agents import main, searching_agent
from grader.judge.trusted.network import evaluator, forward
from grader.judge.trusted.search import best_move, search_many
from training.exact import EXAMPLES, board_after, play_all_replies

ROWS = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


# ---------------------------------------------- tic-tac-toe of the test's own, which knows nothing of Board or grader


def result(line):
    """Of a game as moves: 1 or 2 won, 0 drawn, None not over."""
    for player in (1, 2):
        owned = set(line[player - 1 :: 2])
        if any(owned.issuperset(row) for row in ROWS):
            return player
    return 0 if len(line) == 9 else None


def free(line):
    return [move for move in range(9) if move not in line]


@cache
def best_value(first, second, turn):
    """Of the position (stones of either player) for the player to move: 1 won, 0 drawn, -1 lost."""
    if any(set((first, second)[1 - turn]).issuperset(row) for row in ROWS):
        return -1
    stones = first | second
    if len(stones) == 9:
        return 0
    moves = [move for move in range(9) if move not in stones]
    after = [(first | {move}, second) if turn == 0 else (first, second | {move}) for move in moves]
    return max(-best_value(*position, 1 - turn) for position in after)


def perfect(line):
    def value(move):
        longer = (*line, move)
        return -best_value(frozenset(longer[::2]), frozenset(longer[1::2]), len(longer) % 2)

    return max(free(line), key=value)


def first_free(line):
    return free(line)[0]


def last_free(line):
    return free(line)[-1]


def centre_always(line):
    return 4


def corner_then_off_the_board(line):
    return 9 if len(line) > 2 else first_free(line)


def negative(line):
    return -1


@cache
def winners(first, second, turn):
    """The results of all games that go on from a position (stones of either player)."""
    for player, owned in ((1, first), (2, second)):
        if any(owned.issuperset(row) for row in ROWS):
            return {player}
    moves = [move for move in range(9) if move not in first | second]
    after = [(first | {move}, second) if turn == 0 else (first, second | {move}) for move in moves]
    return set().union(*(winners(*position, 1 - turn) for position in after)) or {0}


def brute_force(choose, seat, line=()):
    """(losses, lines held, illegal choices) of the agent over every line of replies."""
    if result(line) == 2 - seat:
        return np.array([1, 0, 0])
    if 2 - seat not in winners(frozenset(line[::2]), frozenset(line[1::2]), len(line) % 2):
        return np.array([0, 1, 0])
    if len(line) % 2 != seat:
        return sum(brute_force(choose, seat, (*line, move)) for move in free(line))
    move = choose(line)
    return brute_force(choose, seat, (*line, move)) if move in free(line) else np.array([1, 0, 1])


def batched(choose):
    return lambda lines: [choose(line) for line in lines]


# ------------------------------------------------------------------------------------------------------ counting


@pytest.mark.parametrize("choose", [perfect, first_free, last_free, centre_always, corner_then_off_the_board, negative])
def test_every_game_is_counted_as_a_brute_force_counts_it(choose):
    seen = play_all_replies(batched(choose))
    for seat, counts in enumerate((seen.first, seen.second)):
        expected = brute_force(choose, seat)
        assert [counts.losses, counts.held, counts.illegal_choices] == expected.tolist()
        assert counts.lines == expected[:2].sum()
    assert seen.losing_lines == seen.first.losses + seen.second.losses


def test_a_perfect_player_loses_no_line_in_either_seat():
    seen = play_all_replies(batched(perfect))
    assert (seen.first.losses, seen.second.losses, seen.first.losing_lines) == (0, 0, [])
    assert seen.first.held > 0 and seen.second.held > 0


def test_the_first_free_point_loses_lines_and_some_are_shown_to_their_end():
    seen = play_all_replies(batched(first_free))
    for seat, counts in enumerate((seen.first, seen.second)):
        assert counts.losses > EXAMPLES == len(counts.losing_lines)
        assert all(result(line) == 2 - seat for line in counts.losing_lines)
        assert all(line[i] == first_free(line[:i]) for line in counts.losing_lines for i in range(seat, len(line), 2))


@pytest.mark.parametrize("move", [-1, 9, 10**6])
def test_an_illegal_choice_is_a_lost_game_that_shows_the_choice(move):
    seen = play_all_replies(lambda lines: [move] * len(lines))
    assert (seen.first.lines, seen.first.losses, seen.first.losing_lines) == (1, 1, [(move,)])
    assert (seen.second.lines, seen.second.illegal_choices) == (9, 9)


def test_an_agent_that_answers_too_few_or_too_many_games_is_refused():
    for moves in ([], [0, 1]):
        with pytest.raises(ValueError, match=f"expected 10 choices of the agent; got {len(moves)}"):
            play_all_replies(lambda lines, moves=moves: moves)


def test_games_that_reach_one_position_by_other_moves_are_asked_for_apart():
    asked = []

    def choose(lines):
        asked.extend(lines)
        return [first_free(line) for line in lines]

    play_all_replies(choose)
    assert len(asked) == len(set(asked))
    positions = {(frozenset(line[::2]), frozenset(line[1::2])) for line in asked}
    assert len(positions) < len(asked)


def test_a_board_of_another_size_is_played_by_its_own_rules():
    size = (2, 3, 2)  # width, height, in a row: the first player wins wherever the second plays
    seen = play_all_replies(lambda lines: [board_after(line, size).availables[0] for line in lines], *size)
    assert seen.first.losses == 0 < seen.first.held and seen.second.losses > 0


# ------------------------------------------------------------------------------------------------- searching


def knows_nothing(states):
    return np.full((len(states), 9), 1 / 9), np.zeros(len(states))


def knows_the_best_reply(states):
    """Exact priors and values, read from the feature planes: 0 the opponent's stones, 1 the own ones, top row first."""
    probs, values = np.zeros((len(states), 9)), np.zeros((len(states), 1))
    for i, planes in enumerate(states):
        theirs, own = (frozenset(np.flatnonzero(plane[::-1]).tolist()) for plane in planes[:2])
        moves = [move for move in range(9) if move not in theirs | own]
        probs[i, max(moves, key=lambda move: -best_value(own | {move}, theirs, 1))] = 1
        values[i] = best_value(own, theirs, 0)
    return probs, values


def test_a_search_follows_a_network_that_knows_best_and_loses_by_one_that_knows_nothing():
    assert play_all_replies(searching_agent(knows_the_best_reply, 8)).losing_lines == 0
    assert play_all_replies(searching_agent(knows_nothing, 8)).losing_lines > 0


@pytest.mark.parametrize("n_playout", [9, 40, 200])
def test_a_search_that_stops_when_it_is_decided_plays_the_move_of_the_whole_search(n_playout):
    evaluate, rng, shorter = evaluator(WEIGHTS), Random(n_playout), 0
    for length in [0, 1, 2, 3, 4, 5, 6] * 3:
        board = board_at(random_position(rng, 3, 3, 3, length))

        def recall(leaves):
            log_probs, values = evaluate(np.stack([leaf.current_state() for leaf in leaves]))
            return [
                ([(move, float(np.exp(row[move]))) for move in leaf.availables], float(value[0]))
                for leaf, row, value in zip(leaves, log_probs, values, strict=True)
            ]

        whole, cut = (search_many([board], recall, n_playout, 5.0, until_decided=cut)[0] for cut in (False, True))
        assert best_move(whole) == best_move(cut)
        shorter += cut.visits < whole.visits == n_playout
    assert shorter > 5


def test_a_network_that_answers_nan_is_refused_in_one_sentence():
    agent = searching_agent(lambda states: (np.full((len(states), 9), np.nan), np.zeros((len(states), 1))), 4)
    with pytest.raises(ValueError, match="expected finite probabilities and values"):
        agent([()])


# ----------------------------------------------------------------------------------------------- the program


def refusal(capsys, *arguments):
    """The one sentence with which the program refuses."""
    assert main([str(argument) for argument in arguments]) == 2
    said = capsys.readouterr().err.strip()
    assert said.startswith("agents: ") and "\n" not in said
    return said


def saved(path, state):
    torch.save({key: torch.as_tensor(value) for key, value in state.items()} if isinstance(state, dict) else state, path)
    return path


def test_missing_weights_end_the_program_with_code_2_and_one_sentence(tmp_path):
    command = [sys.executable, "-m", "grader.judge.trusted.agents", str(tmp_path / "gone.model")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr == f"agents: expected a weights file at {tmp_path / 'gone.model'}; nothing is there\n"


@pytest.mark.parametrize(
    "content", [b"", b".", b"qR.", b"\x80\x05X", b"PK\3\4", b"weights\n" * 99, bytes(range(256))], ids=repr
)
def test_garbage_in_place_of_weights_is_refused(tmp_path, capsys, content):
    path = tmp_path / "garbage.model"
    path.write_bytes(content)
    assert f"expected a bare state_dict saved by torch in {path}" in refusal(capsys, path)


def test_a_pickle_that_would_run_something_runs_nothing(tmp_path, capsys):
    class Trap:
        def __reduce__(self):
            return exec, (f"open({str(tmp_path / 'sprung')!r}, 'w')",)

    torch.save({"conv2d_1.weight": Trap()}, tmp_path / "trap.model")
    assert "expected a bare state_dict" in refusal(capsys, tmp_path / "trap.model")
    assert not (tmp_path / "sprung").exists()


WEIGHTS = random_weights(3, 3, 1, seed=1)
ODD_WEIGHTS = {
    "another board": (
        random_weights(4, 4, 1, seed=1),
        "expected weights of a 3x3 board, whose games can all be played; got 4x4",
    ),
    "another network": ({"fc.weight": np.zeros((2, 2), np.float32)}, "expected the layers of the policy-value network"),
    "a layer missing": ({k: v for k, v in WEIGHTS.items() if k != "bn_1.bias"}, "bn_1.bias is missing"),
    "a layer misshaped": ({**WEIGHTS, "bn_1.bias": np.zeros(3, np.float32)}, "expected bn_1.bias of shape (2,); it has (3,)"),
    "not a number": ({**WEIGHTS, "bn_1.bias": np.full(2, np.nan, np.float32)}, "bn_1.bias contains NaN or infinity"),
    "complex": ({**WEIGHTS, "bn_1.bias": np.zeros(2, np.complex64)}, "bn_1.bias holds complex64"),
    "a terabyte out of nothing": ({"a": torch.zeros(1).expand(1 << 38)}, "at most 256 MiB in"),
    "overflow": ({k: v * np.float32(1e30) if v.dtype == np.float32 else v for k, v in WEIGHTS.items()}, "expected finite"),
    "a tensor alone": (torch.zeros(3), "expected a bare state_dict"),
    "a list": ([1, 2], "expected a bare state_dict"),
}


@pytest.mark.parametrize("kind", ODD_WEIGHTS)
def test_weights_that_are_no_3x3_network_are_refused_with_the_reason(tmp_path, capsys, kind):
    state, reason = ODD_WEIGHTS[kind]
    assert reason in refusal(capsys, saved(tmp_path / "odd.model", state), "--playouts", "4")


def test_weights_in_double_precision_play_as_in_single(tmp_path, capsys):
    double = {key: value.astype(np.float64) if value.dtype == np.float32 else value for key, value in WEIGHTS.items()}
    states = np.stack([board_after((), (3, 3, 3)).current_state()])
    for seen, expected in zip(forward(double, states), forward(WEIGHTS, states), strict=True):
        assert seen.tobytes() == expected.tobytes()
    assert main([str(saved(tmp_path / "double.model", double)), "--playouts", "2"]) == 1
    assert capsys.readouterr().err == ""


def test_one_playout_is_refused_since_it_gives_no_move(tmp_path, capsys):
    assert "expected at least 2 playouts; got 1" in refusal(capsys, saved(tmp_path / "w.model", WEIGHTS), "--playouts", 4, 1)


def test_the_table_has_a_row_for_each_number_of_playouts_and_the_code_says_whether_a_line_is_lost(
    tmp_path, capsys, monkeypatch
):
    path = saved(tmp_path / "w.model", WEIGHTS)
    assert main([str(path), "--playouts", "2", "4"]) == 1
    out, err = capsys.readouterr()
    lines = out.splitlines()
    rows = [line.split() for line in lines[1:] if "example" not in line]
    assert err == "" and [row[0] for row in rows] == ["2", "4"] and all(int(row[1]) > 0 for row in rows)
    examples = [line.split("for example ")[1] for line in lines if "for example" in line]
    assert len(examples) == 8 and all(result(tuple(map(int, e.strip("()").split(", ")))) in (1, 2) for e in examples)
    monkeypatch.setattr(exact, "network_agent", lambda *_: batched(perfect))
    assert main([str(path), "--playouts", "2"]) == 0 and capsys.readouterr().out.splitlines()[1].split()[1] == "0"
