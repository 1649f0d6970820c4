"""The figures of readability: what counts as a sentence, and that harder text has a higher grade."""

import sys

import pytest

from docs import readability
from docs.readability import sentences_of, syllables

TEXT = """# A heading is no sentence.

The engine wins. It
plays `python -m grader check` well: see [the guide](a.md#b).

- One item
- Another item, e.g. this

| a table | is left out |
|---|---|

```
This block is code. It does not count.
```
"""


def test_sentences_end_at_full_stops_paragraphs_and_items_and_code_does_not_count():
    assert [" ".join(words) for words in sentences_of(TEXT)] == [
        "The engine wins",
        "It plays code well see the guide",
        "One item",
        "Another item e g this",
    ]


@pytest.mark.parametrize(("word", "count"), [("the", 1), ("move", 1), ("table", 2), ("evaluation", 4), ("tree", 1), ("I", 1)])
def test_syllables_are_groups_of_vowels(word, count):
    assert syllables(word) == count


def test_longer_sentences_and_longer_words_have_a_higher_grade():
    easy = readability.readability("The cat sat. The dog ran off.")
    longer = readability.readability("The cat sat and the dog ran off.")
    harder = readability.readability("Evaluations necessitate computation. Regularisation complicates interpretation further.")
    assert (easy.sentences, easy.words_per_sentence, easy.long_share) == (2, 3.5, 0)
    assert easy.grade == pytest.approx(0.39 * 3.5 + 11.8 - 15.59)
    assert easy.grade < longer.grade < harder.grade
    assert readability.readability("word " * 31 + ". Two words.").long_share == 0.5


def test_the_command_prints_a_line_for_each_file_and_one_sentence_for_what_it_cannot_read(tmp_path, monkeypatch, capsys):
    def run(*files):
        monkeypatch.setattr(sys, "argv", ["readability.py", *map(str, files)])
        return readability.main()

    text, empty = tmp_path / "text.md", tmp_path / "empty.md"
    text.write_text(TEXT)
    empty.write_text("```\n```\n")
    assert run(text, text) == 0 and capsys.readouterr().out.count("text.md") == 2
    for path, words in ((empty, "there are none"), (tmp_path / "none.md", "cannot be read")):
        with pytest.raises(SystemExit) as end:
            run(path)
        assert end.value.code == 2 and words in capsys.readouterr().err
