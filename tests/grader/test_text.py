"""Untrusted text on a screen and in a table."""

import csv
import io
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.harmless_text import FORMULA, csv_cell, from_csv_cell, on_screen
from grader.__main__ import main


@given(st.text())
def test_a_screen_gets_one_line_that_no_terminal_obeys(text):
    line = on_screen(text)
    assert line.isprintable()
    assert len(line) == len(text)
    assert on_screen(line) == line


def test_escape_sequences_newlines_and_turned_writing_are_spaces():
    assert on_screen("a\x1b[2Jb\nc\u202ed\x9b31m\x07\udcff\r") == "a [2Jb c d 31m   "
    assert on_screen("a\nb\tc", keep="\n") == "a\nb c"


@pytest.mark.parametrize("text", ['=1+cmd|" /C calc"!A0', "+1", "-1", "@SUM(1)", "\t=1", "\r=1", " =1", "＝1", "\n-2+3"])
def test_a_spreadsheet_computes_no_cell(text):
    assert csv_cell(text).startswith("'")


@given(st.lists(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.none()), min_size=1))
def test_a_table_is_read_back_with_as_many_cells_as_were_written(row):
    file = io.StringIO()
    csv.writer(file).writerow(map(csv_cell, row))
    (back,) = csv.reader(io.StringIO(file.getvalue(), newline=""), strict=True)
    assert back == [csv_cell(value) for value in row]
    for value, cell in zip(row, back, strict=True):
        if isinstance(value, str):
            assert cell.removeprefix("'") == on_screen(value).removeprefix("'")
            assert not cell.startswith((*FORMULA, "\t", "\r"))


@given(st.one_of(st.text(), st.text("'= a")))
def test_a_text_of_one_line_is_read_back_from_a_table_as_it_was(text):
    line = on_screen(text)
    assert from_csv_cell(csv_cell(line)) == line


@pytest.mark.parametrize(("value", "cell"), [("1E+2", "100"), ("-0.2500", "-0.25"), ("-0.0", "0"), ("97.5", "97.5")])
def test_a_decimal_number_is_written_without_an_exponent(value, cell):
    assert csv_cell(Decimal(value)) == cell


@pytest.mark.parametrize("value", [-1, -0.5, 0, 12.25])
def test_numbers_stay_numbers(value):
    assert float(csv_cell(value)) == value


def test_an_archives_name_does_not_reach_the_terminal_as_it_is(tmp_path, capsys):
    path = tmp_path / "\x1b]0;owned\x07\x1b[2Jx.zip"
    path.write_bytes(b"no archive")
    assert main(["grade", str(path), "--out", str(tmp_path / "out"), "--allow-weak-sandbox"]) == 2
    said = capsys.readouterr()
    assert "x.zip" in said.err
    assert all(c.isprintable() or c == "\n" for c in said.out + said.err)
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("text", ["=1+1", "-5 points", "@home", " +1", "'quoted", "'=x", "''+1", "' =x", "", "Zoë", "＝cmd"])
def test_the_text_of_a_cell_comes_back_without_the_apostrophe_that_was_put_in_front(text):
    assert from_csv_cell(csv_cell(text)) == text
