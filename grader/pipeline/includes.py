"""What a C++ source includes by name, as the compiler reads it: without comments, with continued lines joined.

Conditions are evaluated as far as names and whole numbers go: a macro is defined if the text above defines it or the compiler
does.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

# A comment, or a quote or a string, in which no comment begins; a string that is not closed ends with its line. The repetitions
# are possessive (`*+`), and no beginning is tried in vain, so the time is linear in the text, which is untrusted.
COMMENT = re.compile(r"""//[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/)?|(?P<text>'\\?"'|"(?:\\.|[^"\\\n])*+"?)""")
INCLUDE = re.compile(r'^[ \t]*(?:#|%:|\?\?=)[ \t]*(?:include|include_next|import|embed)[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
DIRECTIVE = re.compile(
    r"^[ \t]*(?:#|%:|\?\?=)[ \t]*(?P<word>if|ifdef|ifndef|elif|else|endif|define|undef)\b[ \t]*(?P<rest>[^\n]*)$", re.MULTILINE
)
NAME = re.compile(r"\b(?!defined\b)\w+")
# A brace, or a quoted text, in which a brace opens and closes nothing.
BRACE = re.compile(r"""(?P<open>\{)|(?P<close>\})|'\\?["{}]'|"(?:\\.|[^"\\\n])*+"?""")
NUMBER = re.compile(r"0|[1-9][0-9]{0,8}")
COMPARISON = re.compile(rf"[( \t]*(\w+)[ \t]*(==|!=|<=|>=|<|>)[ \t]*({NUMBER.pattern})[) \t]*")
OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}
MOST_MACROS = 8  # in a chain; a macro may stand for itself
MOST_CHARACTERS = 200  # of a macro; every condition that names it reads them, and names and numbers are shorter
# Macros that sources ask for and g++ defines under Linux.
PREDEFINED = ("__cplusplus", "__GNUC__", "__GNUG__", "__has_include", "__linux__", "__linux", "__unix__", "__unix")


def without_comments(content: bytes) -> str:
    """Return the text of a source, without a byte order mark, in which a space stands for each comment."""
    text = content.decode("utf-8-sig", "replace").replace("\\\r\n", "").replace("\\\n", "")
    return COMMENT.sub(lambda found: found["text"] or " ", text)


def included_names(text: str) -> list[str]:
    """Return the names that a text from `without_comments` includes, in its order; names made by a macro are missing."""
    return INCLUDE.findall(text)


def compiled_text(text: str) -> str:
    """Return the lines of a text from `without_comments` that are compiled: those outside conditions that do not hold."""
    macros = dict.fromkeys(PREDEFINED, "1")
    open_conditions: list[_Condition] = []
    compiled, kept, start = True, [], 0
    for directive in DIRECTIVE.finditer(text):
        if compiled:
            kept.append(text[start : directive.start()])
        start, word, rest = directive.end(), directive["word"], directive["rest"]
        if word.startswith("if"):
            holds = _holds({"if": rest, "ifdef": f"defined {rest}", "ifndef": f"!defined {rest}"}[word], macros)
            open_conditions.append(_Condition(compiled, settled=holds))
            compiled = compiled and holds
        elif word in ("define", "undef"):
            if compiled and (name := NAME.match(rest)):
                macros.pop(name[0], None)
                if word == "define":
                    macros[name[0]] = rest[name.end() :].strip()[:MOST_CHARACTERS]
        elif open_conditions and word == "endif":
            compiled = open_conditions.pop().compiled
        elif open_conditions:
            condition = open_conditions[-1]
            holds = not condition.settled and (word == "else" or _holds(rest, macros))
            condition.settled = condition.settled or holds
            compiled = condition.compiled and holds
    return "".join([*kept, text[start:] if compiled else ""])


def outside_braces(text: str) -> str:
    """Return what a text from `compiled_text` has outside all braces: neither bodies of functions nor members of classes.

    A text whose braces do not match, as those in a raw string may, is returned whole.
    """
    kept, depth, start = [], 0, 0
    for found in BRACE.finditer(text):
        if found["open"]:
            if depth == 0:
                kept.append(text[start : found.end()])
            depth += 1
        elif found["close"] and depth:
            depth -= 1
            start = found.start()
    return text if depth else "".join([*kept, text[start:]])


@dataclass
class _Condition:
    """An `#if` without its `#endif` so far.

    Attributes:
        compiled: whether the text around it is compiled.
        settled: whether one of its branches up to now holds.
    """

    compiled: bool
    settled: bool


def _holds(condition: str, macros: Mapping[str, str]) -> bool:
    """Return whether a condition holds. A comparison counts as its first name alone, unless both sides are whole numbers."""
    return any(all(_is_true(term, macros) for term in either.split("&&")) for either in condition.split("||"))


def _is_true(term: str, macros: Mapping[str, str]) -> bool:
    comparison = COMPARISON.fullmatch(term)
    if comparison and comparison[1] not in PREDEFINED:
        left = _resolved(comparison[1], macros)  # a name that is not defined here may be so in a header
        if NUMBER.fullmatch(left):
            return bool(OPERATORS[comparison[2]](int(left), int(comparison[3])))
    name = NAME.search(term)
    if name is None:
        return False
    value = _resolved(name[0], macros)
    true = name[0] in macros if "defined" in term else value == "true" or not (value == "0" or value.isidentifier())
    return true != term.strip("( \t").startswith("!")


def _resolved(word: str, macros: Mapping[str, str]) -> str:
    """Return what a name stands for through a chain of macros, without parentheses around it, or the word itself."""
    for _ in range(MOST_MACROS):
        word = word.strip("() \t")
        if word not in macros:
            break
        word = macros[word]
    return word
