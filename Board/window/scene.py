"""What the window shows at one moment, as plain values. Two equal scenes look the same, so nothing is drawn twice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

from Board.play.for_people import Point
from Board.play.headline import ending_words, headline, hint_words, not_a_stone
from Board.play.session import Session
from Board.play.thinking import Analysis
from Board.play.words import say
from Board.rules import Board
from common.harmless_text import on_screen

LEAST_SHARE = 0.01  # moves with a smaller share of the best move's number are not drawn
MOST_MARKS = 30


def button_rows(in_place_of_a_stone: str | None = "swap") -> tuple[tuple[str, ...], ...]:
    """Return the names of the buttons, row by row; see `GameForPeople.in_place_of_a_stone`."""
    between = (in_place_of_a_stone,) if in_place_of_a_stone is not None else ()
    return (
        ("new", "switch", "reset"),
        ("undo", "redo", "pause"),
        ("hint", *between, "overlay"),
        ("save", "open", "shot"),
        ("first", "back", "forward", "last", "help"),
    )


class Overlay(StrEnum):
    """What is drawn over the empty points."""

    NOTHING = "nothing"
    VISITS = "visits"
    PRIORS = "priors"
    VALUES = "values"


@dataclass(frozen=True)
class Look:
    """What a person has chosen to see.

    Attributes:
        line: whether to draw the principal line.
        list_of: the rows of a list that lies over the window (title first); empty if there is none.
    """

    language: str = "en"
    numbers: bool = False
    coordinates: bool = True
    overlay: Overlay = Overlay.NOTHING
    line: bool = False
    list_of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """A number of the search over a point.

    Attributes:
        weight: from 0 to 1, how strongly it is drawn.
        tone: from -1 (bad for the side to move) to 1; None for numbers that are not values.
    """

    point: Point
    text: str
    weight: float
    tone: float | None = None


@dataclass(frozen=True)
class Row:
    """A participant as the panel shows them; colour 0 is black, and `captured` is empty in a game without captures."""

    name: str
    colour: int
    wins: int
    clock: str
    is_to_move: bool
    captured: str = ""


@dataclass(frozen=True)
class Button:
    """A button's words, whether it does anything now, and whether it is switched on."""

    label: str
    enabled: bool = True
    active: bool = False


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn; see the modules that draw it."""

    stones: tuple[tuple[Point, int], ...] = ()
    numbers: tuple[int, ...] = ()
    coordinates: bool = True
    last: Point | None = None
    won: tuple[Point, ...] = ()
    territory: tuple[tuple[Point, int], ...] = ()
    pointed: tuple[Point, int] | None = None
    hint: Point | None = None
    marks: tuple[Mark, ...] = ()
    line: tuple[tuple[Point, int], ...] = ()
    value: float | None = None
    curve: tuple[tuple[int, float], ...] = ()
    plies: int = 0
    shown: int = 0
    message: str = ""
    detail: str = ""
    is_alarming: bool = False
    rows: tuple[Row, ...] = ()
    draws: tuple[str, int] = ("", 0)
    caption: str = ""
    buttons: tuple[tuple[str, Button], ...] = ()
    keys: str = ""
    list_of: tuple[str, ...] = ()


def make_scene(session: Session, look: Look, live: Analysis | None, pointer: Point | None, notice: str) -> Scene:
    """Return what to show.

    Args:
        live: what the search that runs now says, if there is one.
        pointer: the point under the mouse.
        notice: a sentence about what the person just did, which takes the place of the details.
    """
    language, shown = look.language, session.shown
    board = session.board if session.viewed is None else session.position(shown)
    width = session.game.width
    stones = tuple((divmod(move, width), board.players.index(owner)) for move, owner in board.states.items())
    last = _point(board.last_move, width) if board.last_move in board.states else None
    side = shown % 2
    if session.viewed is not None:
        live = None
    analysis, is_of_now = _analysis(session, live)
    values = {ply: seen.black_value for ply, seen in session.analyses.items() if ply <= session.live}
    if live is not None:
        values[session.live] = live.black_value
    curve = tuple((ply, value) for ply, value in sorted(values.items()) if value is not None)
    can_play = session.is_persons_turn and session.viewed is None and session.trouble is None
    taken = {point for point, _ in stones}
    message, is_alarming = headline(session, language)
    scene = Scene(
        stones=stones,
        numbers=_numbers(session, board.states) if look.numbers else (),
        coordinates=look.coordinates,
        last=last,
        won=session.game.won_by(board),
        territory=tuple((_point(move, width), owner) for move, owner in session.game.territory(board).items()),
        pointed=(pointer, side) if can_play and pointer is not None and pointer not in taken else None,
        hint=_hinted(session),
        value=next((value for ply, value in reversed(curve) if ply <= shown), None),
        curve=curve,
        plies=session.live,
        shown=shown,
        message=message,
        detail=notice or _details(session, language, live),
        is_alarming=is_alarming,
        rows=_rows(session, language, session.game.captures(board)),
        draws=(say(language, "draws"), session.score[2]),
        buttons=_buttons(session, look),
        keys=say(language, "key_line_short"),
        list_of=look.list_of,
    )
    if look.overlay is Overlay.NOTHING and not look.line:
        return scene
    if analysis is None:
        return replace(scene, caption=say(language, "no_tree"))
    if analysis.words:
        name = _speaker(session, shown if is_of_now else shown - 1)
        line = _line(analysis, session, taken, side) if look.line and is_of_now else ()
        return replace(scene, line=line, caption=say(language, "says", name=name, words=analysis.words))
    at_pointer = "" if notice or pointer is None else _numbers_at(pointer, analysis, session, look)
    of = say(language, "search_now" if is_of_now else "search_before")
    name = say(language, look.overlay.value) if look.overlay is not Overlay.NOTHING else say(language, "line")
    return replace(
        scene,
        detail="   ".join(part for part in (scene.detail, at_pointer) if part),
        marks=_marks(analysis, look.overlay, session, taken if is_of_now or last is None else taken - {last}),
        line=_line(analysis, session, taken, side) if look.line and is_of_now else (),
        caption=say(language, "caption", what=name, of=of),
    )


def _speaker(session: Session, ply: int) -> str:
    """Return the name of the player who searched before this ply: the one to move, or the one who gave a person a hint."""
    mover = session.participant_at(ply)
    return session.participants[mover if session.participants[mover].player is not None else 1 - mover].name


def _numbers(session: Session, stones: Iterable[int]) -> tuple[int, ...]:
    """Return the number of the move that placed each stone; a swap has no number, a pass has one."""
    moves = (action for action in session.actions[: session.shown] if action != Board.SWAP)
    number_of = {move: number for number, move in enumerate(moves, start=1)}
    return tuple(number_of[move] for move in stones)


def _hinted(session: Session) -> Point | None:
    hint = session.hint
    is_stone = isinstance(hint, int) and hint != session.game.pass_action
    return _point(int(hint), session.game.width) if is_stone and hint is not None and session.viewed is None else None


def _details(session: Session, language: str, live: Analysis | None) -> str:
    """Return the line below the score: time and playouts of a search, a hint, a swap or pass, how the game was decided."""
    parts = []
    if session.viewed is None and (seconds := session.thinking_s) is not None:
        parts.append(say(language, "seconds", seconds=f"{seconds:.1f}"))
        if live is not None and live.words:
            parts.append(on_screen(live.words.partition(" pv")[0]))
        elif live is not None:
            parts.append(say(language, "playouts", count=f"{live.playouts:,}"))
    elif session.hint is not None:
        parts.append(hint_words(session, language))
    elif session.viewed is None and session.has_ended:
        parts.append(ending_words(session, language))
        if not session.counts:
            parts.append(say(language, "not_counted"))
    elif session.shown:
        parts.append(not_a_stone(session, session.shown, language))
    return "   ".join(part for part in parts if part)


def _rows(session: Session, language: str, captures: tuple[int, int] | None) -> tuple[Row, ...]:
    """Return the participants in the order of the score, so that a row never changes its place."""
    goes_on = not session.has_ended and session.trouble is None
    return tuple(
        Row(one.name, int(index != session.black), session.score[index], _clock(session.seconds[index]),
            goes_on and session.turn == index,
            "" if captures is None else say(language, "captured", count=captures[int(index != session.black)]))
        for index, one in enumerate(session.participants)
    )  # fmt: skip


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def _analysis(session: Session, live: Analysis | None) -> tuple[Analysis | None, bool]:
    """Return the search to draw, and whether it is of the position that is shown and not of the one before."""
    shown = session.shown
    if live is not None and shown == session.live:
        return live, True
    if shown in session.analyses:
        return session.analyses[shown], True
    return session.analyses.get(shown - 1), False


def _marks(analysis: Analysis, overlay: Overlay, session: Session, taken: set[Point]) -> tuple[Mark, ...]:
    if overlay is Overlay.NOTHING:
        return ()
    sizes = {child.move: child.prior if overlay is Overlay.PRIORS else child.visits for child in analysis.children}
    most = max([*filter(isfinite, sizes.values()), 1e-9])
    marks = []
    for child in sorted(analysis.children, key=lambda child: -sizes[child.move])[:MOST_MARKS]:
        # What a network gone wrong computes is shown as what it is, only without strength.
        share = sizes[child.move] / most if isfinite(sizes[child.move]) else LEAST_SHARE
        if child.move is None or child.move == session.game.pass_action or share < LEAST_SHARE:
            continue
        point = _point(child.move, session.game.width)
        if point in taken:
            continue
        if overlay is Overlay.PRIORS:
            text, tone = f"{100 * child.prior:.0f}", None
        elif overlay is Overlay.VISITS:
            text, tone = _short(child.visits), None
        else:
            value = child.mean_value
            text, tone = f"{100 * value:+.0f}", max(-1.0, min(1.0, value)) if isfinite(value) else 0.0
        marks.append(Mark(point, text, share, tone))
    return tuple(marks)


def _numbers_at(point: Point, analysis: Analysis, session: Session, look: Look) -> str:
    """Return what the search says about a point, in words; an empty text without an overlay, or if it says nothing."""
    move = point[0] * session.game.width + point[1]
    child = next((child for child in analysis.children if child.move == move), None)
    if child is None or look.overlay is Overlay.NOTHING:
        return ""
    value = f"{100 * child.mean_value:+.0f}" if child.visits else "-"
    name, prior = session.game.action_name(move), f"{100 * child.prior:.0f}"
    return say(look.language, "numbers_at", point=name, visits=f"{child.visits:,}", prior=prior, value=value)


def _short(number: int) -> str:
    return str(number) if number < 1000 else f"{number / 1000:.1f}k" if number < 10_000 else f"{number // 1000}k"


def _line(analysis: Analysis, session: Session, taken: set[Point], side: int) -> tuple[tuple[Point, int], ...]:
    """Return the points of the principal line without passes; a point that is played twice has its first stone."""
    line: dict[Point, int] = {}
    for ply, move in enumerate(analysis.line):
        point = _point(move, session.game.width)
        if move != session.game.pass_action and point not in taken:
            line.setdefault(point, (side + ply) % 2)
    return tuple(line.items())


def _buttons(session: Session, look: Look) -> tuple[tuple[str, Button], ...]:
    persons, live = session.is_persons_turn, session.live
    back = session.shown > 0
    enabled = {
        "undo": live > 0,
        "redo": live < len(session.actions),
        "hint": persons and session.viewed is None,
        "swap": persons and session.can_swap,
        "pass": persons and session.viewed is None,
        "pause": not session.has_ended,
        "save": live > 0,
        "first": back,
        "back": back,
        "forward": session.viewed is not None,
        "last": session.viewed is not None,
    }
    active = {"overlay": look.overlay is not Overlay.NOTHING, "pause": session.paused}
    labels = {"pause": "go_on" if session.paused else "pause"}
    return tuple(
        (name, Button(say(look.language, labels.get(name, name)), enabled.get(name, True), active.get(name, False)))
        for row in button_rows(session.game.in_place_of_a_stone)
        for name in row
    )


def _point(move: int, width: int) -> Point:
    h, w = divmod(move, width)
    return h, w
