"""Fonts of the window: which files are fonts, what they can write, and how sentences are broken into lines."""

import os

import pytest

pygame = pytest.importorskip("pygame")

from Board.window.fonts import Pen, find_font  # noqa: E402
from common.errors import UsageError  # noqa: E402


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_file_that_is_no_font_gets_a_sentence(language, tmp_path):
    path = tmp_path / "face.ttf"
    path.write_text("no font")
    for chosen in (path, tmp_path / "nothing.ttf"):
        with pytest.raises(UsageError, match="expected a font"):
            find_font(language, str(chosen))


def test_a_font_without_chinese_characters_is_not_used_for_chinese():
    latin = os.path.join(os.path.dirname(pygame.__file__), pygame.font.get_default_font())
    assert find_font("en", latin) == latin
    with pytest.raises(UsageError, match=r"expected a font with Chinese characters; .* has none"):
        find_font("zh", latin)


def test_long_sentences_are_broken_into_lines_that_fit():
    pygame.font.init()
    pen = Pen(None)
    for text in ("an engine that has a lot to say about its end " * 4, "一" * 200, "x" * 200, ""):
        lines = pen.lines(text, 14, 180, 3)
        assert len(lines) <= 3 and all(pen.width(line, 14) <= 180 for line in lines)
        assert not text or lines[-1].endswith("…")
    assert pen.lines("short", 14, 180, 3) == ["short"]
