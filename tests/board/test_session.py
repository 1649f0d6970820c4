"""Games at the window, without a window: turns, taking back, hints, clocks, score, cancelled searches."""

import random
import threading
import time
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from misbehaving import misbehaving
from session_tools import Endless, Scripted, new_session, run_until

from arena.engine.engine_process import EngineSpec
from Board.game_board import Board
from Board.play.headline import headline
from Board.play.people import Refused, Rules
from Board.play.words import say
from common.errors import UsageError
from common.player_faults import PlayerFault
from Minimax.search_wrapper import EnginePlayer


def refused(key, do, *arguments):
    with pytest.raises(Refused) as caught:
        do(*arguments)
    assert caught.value.key == key
    return caught.value


def test_a_player_answers_a_persons_move_and_forgets_nothing_in_between():
    player = Scripted([0, 1])
    session = new_session(None, player)
    session.play(4)
    refused("not_your_turn", session.play, 5)
    run_until(session, lambda: session.live == 2)
    session.play(8)
    run_until(session, lambda: session.live == 4)
    assert session.board.states == {4: 1, 0: 2, 8: 1, 1: 2}
    assert [call for call in player.calls if call == "reset"] == ["reset"], "the tree is kept from move to move"


def test_a_search_in_a_game_that_was_left_is_ended_at_once_and_its_player_can_search_again():
    player = Endless()
    session = new_session(None, player)
    session.play(4)
    run_until(session, player.is_searching.is_set)
    session.undo()
    assert session.live == 0 and session.is_persons_turn
    player.is_searching.clear()
    session.play(0)
    run_until(session, player.is_searching.is_set)
    assert player.calls == ["reset", {4: 1}, "reset", {0: 1}]
    assert session.close(5)
    assert threading.active_count() == 1 or not any(thread.name == "search" for thread in threading.enumerate())


def test_the_answer_of_a_search_that_cannot_be_cancelled_is_dropped():
    gate = threading.Event()
    player = Scripted([8, 5], gate)
    session = new_session(None, player)
    session.play(0)
    session.tick()
    session.new_game()
    session.play(4)
    session.tick()
    assert len(player.calls) == 2, "one player never searches twice at the same time"
    gate.set()
    run_until(session, lambda: session.live == 2)
    assert session.board.states == {4: 1, 5: 2}


def test_undo_goes_back_to_the_persons_turn_and_redo_returns():
    session = new_session(None, Scripted([0, 1]))
    for move in (4, 8):
        session.play(move)
        run_until(session, lambda: session.is_persons_turn)
    session.undo()
    assert session.actions[: session.live] == [4, 0]
    session.redo()
    assert session.live == 4 and session.board.states == {4: 1, 0: 2, 8: 1, 1: 2}
    session.undo()
    session.undo()
    refused("nothing_to_undo", session.undo)
    session.redo()
    session.play(7)
    assert session.actions == [4, 0, 7], "another move drops what was taken back"
    refused("nothing_to_redo", session.redo)


def test_where_the_player_begins_its_first_move_alone_cannot_be_taken_back():
    session = new_session(None, Scripted([0]), black=1)
    run_until(session, lambda: session.live == 1)
    refused("nothing_to_undo", session.undo)
    assert session.board.states == {0: 1}


@settings(max_examples=60)
@given(st.lists(st.sampled_from(["play", "undo", "redo", "swap", "view", "go_on"]), max_size=40), st.integers(0, 10**6))
def test_whatever_two_persons_do_the_board_is_the_replay_of_the_moves(does, seed):
    rng = random.Random(seed)
    session = new_session(None, None, size=(5, 4, 4), rules=Rules(may_swap=True))
    for do in does:
        before = (list(session.actions), session.live)
        try:
            if do == "play":
                session.view(99)
                session.play(rng.randrange(20))
            elif do == "swap":
                session.play(Board.SWAP)
            elif do == "view":
                session.view(rng.randrange(-2, 22))
            else:
                {"undo": session.undo, "redo": session.redo, "go_on": session.go_on_from_here}[do]()
        except Refused:
            assert (session.actions, session.live) == before
        assert 0 <= session.live <= len(session.actions)
        replayed = session.position(session.live)
        assert replayed.states == session.board.states and replayed.game_end() == session.board.game_end()
        assert replayed.current_player == session.board.current_player == session.board.players[session.live % 2]
        assert session.position(session.shown).last_move == (session.board.last_move if session.viewed is None else
                                                             session.position(session.viewed).last_move)  # fmt: skip


@pytest.mark.parametrize("who", ["person", "player"])
def test_white_may_swap_only_as_an_answer_to_blacks_second_stone(who):
    player = None if who == "person" else Scripted([1, Board.SWAP])
    session = new_session(None, player, size=(9, 9, 5), rules=Rules(may_swap=True))
    if who == "person":
        for move in (0, 1, 2):
            refused("no_swap", session.play, Board.SWAP)
            session.play(move)
        session.play(Board.SWAP)
    else:
        for move in (0, 2):
            session.play(move)
            run_until(session, lambda: session.is_persons_turn)
    assert session.board.states == {0: 2, 1: 1, 2: 2} and session.turn == 0
    refused("no_swap", session.play, Board.SWAP)
    session.play(3)
    assert session.board.states[3] == 1


def session_with_swaps(*players, **options):
    return new_session(*players, size=(15, 15, 5), rules=Rules(may_swap=True), **options)


def plies_reached(session, plies):
    run_until(session, lambda: session.live >= plies or session.trouble)
    return session.trouble is None


def test_after_a_persons_swap_an_engine_that_takes_no_positions_plays_on(no_engine_left):
    session = session_with_swaps(EnginePlayer(misbehaving()), None)
    for ply, action in ((1, 0), (3, Board.SWAP), (5, 14)):
        assert plies_reached(session, ply), session.trouble
        session.play(action)
    assert plies_reached(session, 7), session.trouble
    assert list(session.board.states.values()) == [2, 1, 2, 1, 2, 1]
    assert session.close()


def test_after_its_own_swap_an_engine_that_takes_no_positions_plays_on(no_engine_left):
    session = session_with_swaps(None, EnginePlayer(misbehaving("swap", 2)))
    for ply, action in ((0, 0), (2, 14), (4, 210)):
        assert plies_reached(session, ply), session.trouble
        session.play(action)
    assert plies_reached(session, 6), session.trouble
    assert session.actions[3] == Board.SWAP
    assert session.close()


def test_of_two_engines_that_take_no_positions_one_swaps_and_both_play_on(no_engine_left):
    now = [0.0]
    engines = EnginePlayer(misbehaving()), EnginePlayer(misbehaving("swap", 2))
    session = session_with_swaps(*engines, clock=lambda: now.append(now.pop() + 1) or now[0])
    assert plies_reached(session, 8), session.trouble
    assert session.actions[3] == Board.SWAP
    assert session.close()


@pytest.mark.parametrize("instead", [Board.SWAP, 14])
def test_after_a_swap_was_taken_back_an_engine_begins_in_the_position(engines, instead):
    session = session_with_swaps(EnginePlayer(EngineSpec(path=str(engines / "sample"), env={"GOMOKU_SEED": "1"})), None)
    for ply, action in ((1, 0), (3, Board.SWAP)):
        assert plies_reached(session, ply), session.trouble
        session.play(action)
    assert plies_reached(session, 5), session.trouble
    session.undo()
    assert session.live == 3
    for ply, action in ((3, instead), (5, 13)):
        assert plies_reached(session, ply), session.trouble
        session.play(action)
    assert plies_reached(session, 7), session.trouble
    black, white = (2, 1) if instead == Board.SWAP else (1, 2)
    assert [*session.board.states.values()][:6] == [black, white] * 3
    assert session.close()


def test_a_swap_without_the_rule_is_a_fault_of_the_player_and_not_of_the_window():
    session = new_session(None, Scripted([Board.SWAP]))
    refused("no_swap_here", session.play, Board.SWAP)
    session.play(0)
    run_until(session, lambda: session.trouble)
    assert session.trouble.is_illegal and session.trouble.name == "Bob"


@pytest.mark.parametrize("answer", [4, 9, 0.5, None, RuntimeError("the engine exited")])
def test_after_a_players_fault_the_window_goes_on(answer):
    session = new_session(None, Scripted([answer, 0]))
    session.play(4)
    run_until(session, lambda: session.trouble)
    assert session.trouble.is_illegal == (not isinstance(answer, RuntimeError)) and not session.is_thinking
    session.undo()
    assert session.trouble is None
    session.play(3)
    run_until(session, lambda: session.live == 2)


@pytest.mark.parametrize(
    ("error", "words", "traces"),
    [
        (KeyError(5), "Bob cannot go on: KeyError: 5. Undo", 1),
        (AssertionError(), "Bob cannot go on: AssertionError. Undo", 1),
        (PlayerFault("the engine exited"), "Bob cannot go on: the engine exited. Undo", 0),
        (UsageError("expected a network"), "Bob cannot go on: expected a network. Undo", 0),
    ],
    ids=repr,
)
def test_the_bug_of_a_player_shows_its_class_and_once_its_traceback(capsys, error, words, traces):
    session = new_session(None, Scripted([error]))
    session.play(4)
    run_until(session, lambda: session.trouble)
    session.tick()
    assert headline(session, "en")[0].startswith(words)
    assert capsys.readouterr().err.count("Traceback (most recent call last)") == traces


def test_a_bug_in_the_code_of_a_student_is_found_by_its_line(capsys):
    names = {"error": KeyError(5)}
    exec(compile("\n\ndef get_move():\n    raise error\n", "/course/AlphaZero/mcts_pure.py", "exec"), names)
    player = Scripted([])
    player.get_action = lambda *arguments, **options: names["get_move"]()
    session = new_session(None, player)
    session.ask_for_hint()
    with pytest.raises(Refused) as refusal:
        run_until(session, lambda: False)
    assert say("en", refusal.value.key, **refusal.value.values) == "No hint: KeyError: 5 (AlphaZero/mcts_pure.py, line 4)"
    assert 'File "/course/AlphaZero/mcts_pure.py", line 4, in get_move' in capsys.readouterr().err


def test_why_a_point_is_refused_is_said():
    session = new_session(None, None, size=(15, 15, 5), rules=Rules(central_opening=True))
    error = refused("not_central", session.play, 0)
    assert error.values == {"first": 4, "last": 10}
    session.play(112)
    assert refused("taken", session.play, 112).values == {"h": 7, "w": 7}
    refused("off_board", session.play, 225)
    session.play(0)
    session.view(1)
    refused("viewing", session.play, 5)


def test_the_score_belongs_to_the_participants_and_a_game_taken_back_does_not_count():
    session = new_session(None, None)
    for move in (0, 3, 1, 4, 2):
        session.play(move)
    assert session.winner == 0 and session.score == (1, 0, 0)
    refused("has_ended", session.play, 8)
    session.undo()
    assert session.score == (0, 0, 0)
    session.redo()
    session.switch_sides()
    assert session.score == (1, 0, 0) and session.turn == 1
    for move in (0, 3, 1, 4, 2):
        session.play(move)
    assert session.score == (1, 1, 0)
    session.reset_score()
    assert session.score == (0, 0, 0) and session.has_ended
    session.new_game()
    assert session.score == (0, 0, 0)


class SlowToStart(Scripted):
    """A player that can be stopped only once its engine runs, as those of engines."""

    def __init__(self):
        super().__init__([])
        self.stop, self.is_starting = threading.Event(), threading.Event()

    def cancel(self):
        self.stop.set()

    def get_action(self, board, is_selfplay, print_probs_value):
        self.is_starting.set()
        time.sleep(0.05)
        self.stop = threading.Event()
        assert self.stop.wait(10), "it was cancelled long ago"
        self.calls.append("stopped")
        raise RuntimeError("the engine was ended")


@pytest.mark.parametrize(
    "leave", [lambda session: run_until(session, lambda: not session._leaving), lambda session: session.close()]
)
def test_a_player_that_is_just_being_started_is_cancelled_too(leave):
    player = SlowToStart()
    session = new_session(None, player)
    session.play(4)
    session.tick()
    assert player.is_starting.wait(10)
    session.undo()
    leave(session)
    assert "stopped" in player.calls and session.trouble is None


@pytest.mark.parametrize("answer", [RuntimeError("died"), 4])
def test_a_player_that_failed_is_reset_once_a_move_was_taken_back(answer):
    player = Scripted([0, answer, 8])
    session = new_session(None, player)
    session.play(4)
    run_until(session, lambda: session.live == 2)
    session.play(2)
    run_until(session, lambda: session.trouble)
    session.undo()
    session.play(2)
    run_until(session, lambda: session.live == 4)
    assert player.calls[-2] == "reset", "its tree may be broken, and its engine dead"


def test_a_hint_is_the_players_answer_and_changes_nothing():
    player = Scripted([7, 2])
    session = new_session(None, player)
    session.ask_for_hint()
    run_until(session, lambda: session.hint is not None)
    assert session.hint == 7 and session.live == 0
    session.play(4)
    assert session.hint is None
    run_until(session, lambda: session.live == 2)
    assert session.actions == [4, 2]


def test_a_hint_that_numpy_drew_is_an_ordinary_point():
    session = new_session(None, Scripted([np.int64(7)]))
    session.ask_for_hint()
    run_until(session, lambda: session.hint is not None)
    assert type(session.hint) is int


@pytest.mark.parametrize("answer", [RuntimeError("no engine"), 9, "e5", (1, 2), None], ids=str)
def test_a_hint_that_fails_leaves_the_game_as_it_was(answer):
    session = new_session(None, Scripted([answer, 2]))
    session.ask_for_hint()
    with pytest.raises(Refused, match="hint_failed"):
        run_until(session, lambda: False)
    assert session.hint is None
    session.play(4)
    run_until(session, lambda: session.live == 2)
    refused("no_hint", new_session(None, None).ask_for_hint)


def test_clocks_count_the_side_to_move_and_rest_in_a_pause():
    now = [0.0]
    session = new_session(None, None, clock=lambda: now[0])

    def pass_time(seconds):
        now[0] += seconds
        session.tick()

    pass_time(3)
    session.play(0)
    pass_time(5)
    session.toggle_pause()
    pass_time(100)
    session.toggle_pause()
    pass_time(2)
    assert session.seconds == [3, 7]
    session.new_game()
    assert session.seconds == [0, 0]


def test_two_players_play_by_themselves_until_they_are_stopped():
    now = [0.0]
    session = new_session(Scripted([0, 1, 2]), Scripted([3, 4]), clock=lambda: now[0])
    run_until(session, lambda: now.append(now.pop() + 0.2) or session.has_ended)
    assert session.score == (1, 0, 0)
    session.undo()
    assert session.live == 4 and session.paused and not session.is_thinking


def test_a_loaded_game_replaces_the_one_on_the_board_and_waits():
    played = new_session(None, None, size=(9, 9, 5), rules=Rules(may_swap=True))
    for action in (40, 41, 42, Board.SWAP, 0):
        played.play(action)
    session = new_session(None, Scripted([8]), size=(9, 9, 5))
    session.load(played.to_file())
    assert session.board.states == played.board.states and session.paused
    session.tick()
    assert session.thinking_s is None
    session.toggle_pause()
    run_until(session, lambda: session.live == 6)
    refused("other_board", new_session(None, None).load, played.to_file())


def node(visits=0, value=0.0, children=None):
    return types.SimpleNamespace(_n_visits=visits, _Q=value, _P=0.5, _children=children or {})


class WithTree(Scripted):
    """A player that throws its tree away before it answers, as pure MCTS does."""

    class MCTS:
        _root, _c_puct = node(), 5

        def update_with_move(self, last_move, grown=False):
            self._root = node(int(grown))

    def __init__(self, move):
        super().__init__([move])
        self.mcts = self.MCTS()

    def get_action(self, board, is_selfplay, print_probs_value):
        answer = super().get_action(board, is_selfplay, print_probs_value)
        self.mcts._root = node(9, 0.0, {answer[0]: node(6, 0.25, {8: node(4)}), 7: node(2, -0.5)})
        self.mcts.update_with_move(-1, grown=True)
        return answer


@pytest.mark.parametrize(("black", "value"), [(1, 0.25), (0, -0.25)])
def test_what_a_search_saw_is_kept_although_the_player_forgets_it(black, value):
    player = WithTree(0)
    session = new_session(None, player, black=black)
    if black == 0:
        session.play(4)
    run_until(session, lambda: session.live == 2 - black)
    analysis = session.analyses[1 - black]
    assert analysis.black_value == value and analysis.line == (0, 8) and analysis.playouts == 9
    assert "update_with_move" not in vars(player.mcts)
