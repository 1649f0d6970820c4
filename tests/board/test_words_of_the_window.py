"""The sentences of window and terminal: both languages say the same things."""

import io
import os
import string
import sys

import pytest
from rich.console import Console
from session_tools import new_session

import human_play
from Board.play.terminal import Terminal
from Board.play.words import LANGUAGES, WORDS, language_of_the_locale, say


def fields(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("key", WORDS)
def test_both_languages_mention_the_same_things(key):
    english, chinese = WORDS[key]
    assert fields(english) == fields(chinese) and english and chinese
    values = dict.fromkeys(fields(english), "\x1b[31m7")
    assert all("\x1b" not in say(language, key, **values) for language in LANGUAGES)


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LC_MESSAGES": "zh_TW", "LANG": "en_US"}, "zh"),
    ],
)
def test_the_language_is_that_of_the_locale(monkeypatch, variables, language):
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language_of_the_locale() == language


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are text")
def test_an_engine_whose_file_name_is_no_text_has_a_name_that_can_be_drawn(tmp_path):
    program = os.path.join(os.fsencode(tmp_path), "引擎".encode("gbk"))
    with open(program, "w", opener=lambda path, flags: os.open(path, flags, 0o700)) as file:
        file.write("#!/bin/sh\n")
    session = human_play.make_session(human_play.parse(["--white", f"minimax:{os.fsdecode(program)}"]), "en")
    assert all(one.name.isprintable() for one in session.participants)


def test_the_terminal_does_not_take_a_name_for_markup():
    terminal = Terminal(new_session(None, None), "en")
    terminal._console = Console(file=io.StringIO(), force_terminal=True, markup=False)
    terminal._wait("my[red]bot is thinking", lambda: True)
    assert "my[red]bot is thinking" in terminal._console.file.getvalue()
