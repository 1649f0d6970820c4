"""Sessions of NoGo and Go: passes, resignation, illegal answers, and a GTP engine as a player."""

import time

import pytest
from gnugo import GNUGO, needs_gnugo
from session_tools import Scripted, run_until

from arena.engine.gtp_engine import BoardOffer
from arena.engine.gtp_player import GtpPlayer
from arena.engine.specs import parse_player
from Board.play.game_file import from_text
from Board.play.headline import ending_words, headline
from Board.play.people import RESIGN, Participant, Refused
from Board.play.session import Session
from common.errors import UsageError
from games.for_people import game_for_people

GO, NOGO = game_for_people("go", 5, 7.5), game_for_people("nogo", 5, None)


def session_of(game, *players):
    people = tuple(Participant(name, player) for name, player in zip(("Ann", "Bob"), players, strict=True))
    return Session(game.new_position(), people, game=game)


def test_a_player_that_resigns_has_lost_until_that_is_taken_back():
    session = session_of(GO, None, Scripted([RESIGN, 3]))
    session.play(12)
    run_until(session, lambda: session.live == 2)
    assert session.has_ended and session.winner == 0 and session.score == (1, 0, 0)
    assert ending_words(session, "en") == "Bob resigns"
    saved = session.to_file()
    assert saved.result == "B+R" and from_text(saved.to_text(), GO).actions == (12,)
    session.undo()
    assert not session.has_ended and session.score == (0, 0, 0)


def test_passes_are_taken_back_and_played_again():
    session = session_of(GO, None, None)
    for _ in range(2):
        session.pass_turn()
    assert session.has_ended and session.winner == 1
    session.undo()
    assert not session.has_ended and session.actions[: session.live] == [25]
    session.redo()
    assert session.has_ended
    with pytest.raises(Refused) as caught:
        session.pass_turn()
    assert caught.value.key == "has_ended"


@pytest.mark.parametrize(("answer", "why"), [(12, "The point c3 is taken"), (25, "got move 25")])
def test_an_illegal_answer_is_explained(answer, why):
    session = session_of(NOGO, None, Scripted([answer]))
    session.play(12)
    run_until(session, lambda: session.trouble)
    sentence, is_fault = headline(session, "en")
    assert is_fault and sentence.startswith("Bob answered with an illegal move") and why in sentence


def test_nogo_has_no_pass():
    with pytest.raises(Refused) as caught:
        session_of(NOGO, None, None).pass_turn()
    assert caught.value.key == "no_pass_here"


def nogo_player(simulations):
    try:
        spec = parse_player(f"nogo:uct?simulations={simulations}", "nogo")
    except UsageError:
        pytest.skip("build/engines/nogo is not built")
    return GtpPlayer(spec, NOGO.rules, BoardOffer(5))


def test_an_engine_is_interrupted_by_undo_and_plays_on():
    player = nogo_player(2_000_000)
    session = session_of(NOGO, None, player)
    try:
        session.play(12)
        session.tick()
        time.sleep(0.3)
        session.undo()
        assert session.live == 0 and session.trouble is None
        player.spec = nogo_player(100).spec
        session.play(6)
        run_until(session, lambda: session.live == 2)
        session.play(next(iter(session.board.availables)))
        run_until(session, lambda: session.live == 4)
    finally:
        session.close(10)


@needs_gnugo
def test_gnu_go_plays_itself_to_a_score():
    spec = parse_player(f"gtp:{GNUGO} --mode gtp --level 1 --chinese-rules --capture-all-dead", "go")
    session = session_of(GO, *(GtpPlayer(spec, GO.rules, BoardOffer(5, 7.5)) for _ in range(2)))
    try:
        run_until(session, lambda: session.has_ended or session.trouble, seconds=120)
        assert session.trouble is None
        assert session.has_resigned or session.board.game_end()[0]
    finally:
        session.close(10)
