"""The sentences of window and terminal: both languages say the same things."""

import string

import pytest

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
