"""The sentences that say how a game stands, for the window and the terminal."""

from __future__ import annotations

from Board.play.people import RESIGN
from Board.play.session import Session
from Board.play.words import say
from Board.rules import Board
from common.player_faults import fault_words


def headline(session: Session, language: str) -> tuple[str, bool]:
    """Return the sentence that says how the game stands, and whether it reports a fault."""
    people = [one.player is None for one in session.participants]
    if session.trouble is not None:
        trouble = session.trouble
        key = "illegal" if trouble.is_illegal else "fault"
        error = str(trouble.error) or repr(trouble.error) if trouble.is_illegal else fault_words(trouble.error)
        if trouble.refusal is not None:
            error = say(language, trouble.refusal[0], **trouble.refusal[1])
        return say(language, key, name=trouble.name, error=error), True
    if session.viewed is not None:
        return say(language, "move_of", ply=session.viewed, all=session.live), False
    if session.has_ended:
        winner = session.winner
        if winner is None:
            return say(language, "draw"), False
        alone = people[winner] and sum(people) == 1
        return say(language, "you_win" if alone else "wins", name=session.participants[winner].name), False
    name = session.participants[session.turn].name
    if session.paused:
        return say(language, "is_paused"), False
    if session.is_thinking:
        return say(language, "thinking", name=name), False
    if session.is_hinting:
        return say(language, "hinting"), False
    return say(language, "your_turn" if sum(people) == 1 else "turn_of", name=name), False


def not_a_stone(session: Session, ply: int, language: str) -> str:
    """Return who swapped, passed or resigned with the action before `ply`; an empty text if it placed a stone."""
    action = session.actions[ply - 1]
    keys = {Board.SWAP: "swapped", RESIGN: "resigns", session.game.pass_action: "passes"}
    name = session.participants[session.participant_at(ply - 1)].name
    return say(language, keys[action], name=name) if action in keys else ""


def hint_words(session: Session, language: str) -> str:
    """Return the hint, which must be there, as a sentence."""
    hint = session.hint
    assert hint is not None
    keys = {Board.SWAP: "hint_swap", RESIGN: "hint_resign", session.game.pass_action: "hint_pass"}
    return say(language, keys[hint]) if hint in keys else say(language, "hint_is", point=session.game.action_name(int(hint)))


def ending_words(session: Session, language: str) -> str:
    """Return how the live game, which has ended, was decided; an empty text where the winner says it all."""
    if session.has_resigned:
        return not_a_stone(session, session.live, language)
    ending = session.game.ending(session.board)
    return "" if ending is None else say(language, ending[0], **ending[1])
