"""Explain why an engine's output is not a valid answer: name the cause and the remedy.

The referee sees only what arrived instead of an answer. This module starts the engine once more and reads everything it writes:
a banner before the name, a second line, or text that comes only when the input ends because it was not flushed.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass

from arena.engine.engine_process import EngineSpec, GameOffer, Limits, environment
from arena.engine.process import ProcessTree
from arena.match.referee import GameRecord
from arena.rules import SIZE, SWAP, SWAP_PLY, Termination, from_line
from grader.judge.support.beliefs import likely_slips, stones_before_swap

QUIET_S = 0.5  # a program that has written something counts as finished after this long without computing or writing
SILENT_S = 3.0  # the same, for a program that has not written anything yet
ENDING_S = 2.0  # how long a program may go on writing after its input has ended
IDLE_S = 0.2  # CPU time; an engine that was late and used less than this was not thinking
MOST_BYTES = 1 << 16
LINE_CAP = 200  # characters; the rest of a line is ignored
SHOWN_CHARACTERS = 60
NOTES = "Standard output is reserved for the protocol: write messages to std::cerr."
FLUSH = "End each answer with std::endl, which ends the line and flushes it."
FLUSH_OR_READ_LESS = f"Either it was not flushed, or the engine read more than the line that it was sent. {FLUSH}"
FORM = "An answer is two integers with a space between them, and the end of the line."
ONE_ANSWER = "It had already answered: each line that it reads gets one answer."
TOLD_OF_SWAP = "White had just swapped: black then reads -1 -1, changes the colour of all stones and places the next one."
FEWER_MEANS = "Here it can open no files, and has less memory than in evaluate.py unless you give --memory-mib (section 4.2)."
LACKS_INSTRUCTION = (
    "SIGILL ends a program that uses an instruction which this processor lacks, as #pragma GCC target allows the compiler to."
)
DIVIDES_BY_0 = "SIGFPE ends a program that divides an integer by 0."
LEAVES_ITS_MEMORY = (
    "SIGSEGV ends a program that leaves its memory: by an index outside an array, a recursion without end, a function without "
    "its return, or a null pointer. Compile it with -g -fsanitize=address,undefined and give it the same lines by hand: it "
    "then names the place."
)
NO_MEMORY_LEFT = "There was no memory left. With --memory-mib, evaluate.py tries the grader's limit (section 4.2)."
# What a message says of the end of a program -> its meaning.
ENDINGS = {
    "std::bad_alloc": NO_MEMORY_LEFT,
    "SIGILL": LACKS_INSTRUCTION,
    "SIGFPE": DIVIDES_BY_0,
    "SIGSEGV": LEAVES_ITS_MEMORY,
}
AFTER_SWAP = "After a swap black moves next, so white's -1 -1 is its whole answer."


@dataclass(frozen=True)
class Talk:
    """What an engine wrote on standard output.

    Attributes:
        early: written before it was told its side.
        introduction: written after it was told its side and before the first question.
        answer: written in reply to the first question.
        at_the_end: written after its input had ended.
    """

    early: str
    introduction: str
    answer: str
    at_the_end: str


def listen(spec: EngineSpec, limits: Limits, side: int) -> Talk:
    """Start an engine, send its side and one question (for white, a stone at 7 7), close its input, and return its output."""
    told = environment(spec, limits, GameOffer())
    tree = ProcessTree(spec.argv, env=told, cwd=spec.cwd, memory_mib=limits.memory_mib)
    try:
        early = _hear(tree, QUIET_S, line_needed=False)
        introduction = _exchange(tree, f"{side}\n", limits.allowance(limits.init_s).wall_s)
        answer = _exchange(tree, "7 7\n" if side else "-1 -1\n", limits.allowance(limits.move_s).wall_s)
        tree.stdin.close()
        return Talk(early, introduction, answer, _hear(tree, ENDING_S, line_needed=True))
    finally:
        tree.kill()


def _exchange(tree: ProcessTree, text: str, limit_s: float) -> str:
    try:
        tree.stdin.write(text.encode())
    except OSError:
        return ""
    return _hear(tree, limit_s, line_needed=True)


def _hear(tree: ProcessTree, limit_s: float, *, line_needed: bool) -> str:
    """Return what the engine writes until it is quiet; standard error is drained and discarded."""
    heard, computed_s = b"", tree.cpu_s()
    until = time.monotonic() + limit_s
    idle_since = time.monotonic()
    while time.monotonic() < until and len(heard) < MOST_BYTES:
        news = _read(tree.stdout.fileno())
        _read(tree.stderr.fileno())
        if news is None:
            break
        heard += news
        if news or tree.cpu_s() - computed_s > 0.01:
            idle_since, computed_s = time.monotonic(), tree.cpu_s()
        if time.monotonic() - idle_since > (QUIET_S if heard or not line_needed else SILENT_S):
            break
        time.sleep(0.01)
    return heard.decode("utf-8", "replace")


def _read(pipe: int) -> bytes | None:
    """Return the bytes available in a pipe, or None at its end."""
    try:
        return os.read(pipe, MOST_BYTES) or None
    except BlockingIOError:
        return b""


def explain_talk(talk: Talk, refused: str = "") -> str:
    """Return a description of the first fault, or "" if there is no fault.

    Args:
        talk: what the engine wrote when it was started once more.
        refused: what it wrote in the game, which counts unless its answer now has several lines, which say more.
    """
    if talk.early.strip():
        return f"It wrote {_shown(talk.early)} before it was told its side. {NOTES}"
    *before, name = talk.introduction.rstrip().splitlines() or [""]
    if before:
        first = _shown(before[0]) if before[0].strip() else "an empty line"
        return f"It wrote {first} before its name {_shown(name)}; the first line is taken as the name. {NOTES}"
    if not talk.introduction:
        return (
            f"It wrote its name only when its input ended: {_shown(talk.at_the_end)}. {FLUSH_OR_READ_LESS}"
            if talk.at_the_end.strip()
            else ""
        )
    if not talk.introduction.endswith("\n"):
        return f"It wrote its name {_shown(name)} without the end of the line. {FLUSH}"
    if not talk.answer.strip() and talk.at_the_end.strip():
        return f"Its answer {_shown(talk.at_the_end)} came only when its input ended. {FLUSH_OR_READ_LESS}"
    if refused and len(talk.answer.splitlines()) < 2:
        return explain_answer(refused.removesuffix("\n") + "\n")
    return explain_answer(talk.answer)


def explain_answer(text: str) -> str:
    """Return what is wrong with an answer, or with the text in its place; "" if nothing is wrong or the cause is unknown."""
    lines = [line.strip()[:LINE_CAP] for line in text.splitlines() if line.strip()]
    if len(lines) == 1 and _is_point(lines[0]) and len(text.splitlines()) > 1:
        place = "after" if text.startswith(lines[0]) else "before"
        return f"It wrote an empty line {place} its answer {_shown(lines[0])}. {FORM}"
    if not lines or (len(lines) == 1 and text.endswith("\n") and _is_point(lines[0])):
        return ""
    if len(lines) == 2 and all(re.fullmatch(r"-?\d+", line) for line in lines):
        return f"It wrote the two numbers {lines[0]} and {lines[1]} on two lines. {FORM}"
    points = [number for number, line in enumerate(lines) if _is_point(line)]
    if len(points) > 1:
        return f"It gave more than one answer to one line: {_shown(lines[points[0]])}, {_shown(lines[points[1]])}. {FORM}"
    if points and len(lines) > 1:
        place = "before" if points[0] else "after"
        return f"It wrote {_shown(lines[0] if points[0] else lines[1])} {place} its answer {_shown(lines[points[0]])}. {NOTES}"
    if points:
        return f"It wrote its answer {_shown(lines[0])} without the end of the line. {FLUSH}"
    return _explain_line(lines[0])


def _explain_line(line: str) -> str:
    """Return what is wrong with a single line that is not an answer."""
    numbers = re.findall(r"-?\d+(?:\.\d+)?", line)
    words = re.search(r"[^\W\d_]{2,}", line)
    if line.strip(" .!").casefold() == "swap":
        return f"It wrote {_shown(line)}, but a swap is written -1 -1."
    if words is None and len(numbers) == 2 and "." in line:
        return f"It answered {_shown(line)}, which are not whole numbers. {FORM}"
    if words is None and len(numbers) == 2:
        return f"It answered {_shown(line)} where {numbers[0]} {numbers[1]} was expected. {FORM}"
    if words is None and numbers:
        count = "one number" if len(numbers) == 1 else f"{len(numbers)} numbers"
        return f"It answered {_shown(line)}, {count} where two are expected. {FORM}"
    if words is not None and (begin := re.match(r"(-?\d+[ \t]+-?\d+)[^\w.](?!.*\d[ \t]+-?\d+$)", line)):
        return f"It wrote {_shown(line[begin.end() :])} after its answer {_shown(begin[1])}. {NOTES}"
    if words is not None and (ending := re.search(r"(-?\d+)[ \t]+(-?\d+)$", line)):
        return f"It wrote {_shown(line[: ending.start()].strip())} before its answer {_shown(ending[0])}. {NOTES}"
    return f"It wrote {_shown(line)}, which is not an answer. {NOTES}"


def first_stone(talk: Talk) -> tuple[int, int] | None:
    """Return the point of the first answer: the last line with exactly two integers gives it; None if there is no such line."""
    for line in reversed((talk.answer + talk.at_the_end).splitlines()):
        numbers = re.findall(r"(?<![\w.])-?\d{1,9}(?![\w.])", line[:LINE_CAP])
        if len(numbers) == 2:
            return int(numbers[0]), int(numbers[1])
    return None


def _is_point(line: str) -> bool:
    try:
        from_line(line)
    except ValueError:
        return False
    return True


def _shown(text: str) -> str:
    """Return text from a submission, shortened and on one line."""
    return repr(" ".join(text[:LINE_CAP].split())[:SHOWN_CHARACTERS])


def explain_fault(game: GameRecord, seat: int, spec: EngineSpec, limits: Limits) -> str:
    """Return the likely cause of the fault by which this seat lost a game, or "" if the cause is unknown."""
    match game.termination:
        case Termination.CRASH | Termination.ILLEGAL_SWAP if game.moves and game.moves[-1] == SWAP:
            return TOLD_OF_SWAP
        case Termination.CRASH | Termination.INIT_FAILED if meaning := _explain_ending(game):
            return meaning
        case Termination.ILLEGAL_MOVE:
            return _explain_illegal_move(game, seat)
        case Termination.ILLEGAL_SWAP if len(game.moves) >= SWAP_PLY:
            return "If -1 -1 stands for 'no move found' in the engine, its search returned without a move."
        case Termination.TIMEOUT if "has no end of line" in game.detail:
            return FLUSH
        case Termination.MALFORMED | Termination.INIT_FAILED | Termination.TIMEOUT if cause := explain_talk(
            listen(spec, limits, seat), game.refused
        ):
            return cause
        case Termination.MALFORMED if _is_point(game.refused):
            swapped = len(game.moves) > SWAP_PLY and game.moves[-2] == SWAP
            return ONE_ANSWER + f" {AFTER_SWAP}" * swapped
        case Termination.MALFORMED if not game.refused and game.detail.startswith("answered"):
            return f"It wrote an empty line. {FORM}"
        case Termination.MALFORMED:
            return explain_answer(f"{game.refused}\n") or NOTES
        case Termination.CRASH if game.detail.startswith("exited with exit code 0"):
            return "An engine goes on reading and answering until its input ends."
        case Termination.INIT_FAILED if "signal" in game.detail or "exit code" in game.detail:
            return FEWER_MEANS
        case Termination.TIMEOUT if game.move_cpu_s[-1] < IDLE_S:
            if game.moves and game.moves[-1] == SWAP:
                return TOLD_OF_SWAP
            return f"It hardly computed: it may be waiting for more input, or its answer was not flushed. {FLUSH}"
    return ""


def _explain_ending(game: GameRecord) -> str:
    """Return what the end of a program means, or "" if it is none of ENDINGS."""
    meaning = next((meaning for words, meaning in ENDINGS.items() if words in game.detail), "")
    # Where memory is short, malloc returns a null pointer; a file that cannot be opened is read as an empty one.
    short_of = meaning == LEAVES_ITS_MEMORY and game.termination == Termination.INIT_FAILED
    return f"{meaning} {FEWER_MEANS}" if short_of else meaning


def _explain_illegal_move(game: GameRecord, seat: int) -> str:
    x, y = point = from_line(game.refused)
    if not (0 <= x < SIZE and 0 <= y < SIZE):
        return f"Both numbers count from 0 to {SIZE - 1}."
    ply = game.moves.index(point) + 1
    lacks = f"board lacks the stone that {('it', 'its opponent')[(ply - 1) % 2 != seat]} placed at ply {ply}"
    if point in stones_before_swap(game.moves):
        return f"Its {lacks}, before the swap. A swap removes no stones: it changes their colours."
    unseen = f"{lacks}, or it does not test whether its answer is free."
    causes = [
        f"If it {slip}, it meant {meant[0]} {meant[1]} here, which would be free."
        for slip, meant in likely_slips(game.moves, seat, point)
    ]
    return " ".join([*causes, f"Otherwise its {unseen}"]) if causes else f"Its {unseen}"
