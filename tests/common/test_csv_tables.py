"""Tables from a spreadsheet are read whichever separator it writes, and a first line that names the separator is no heading."""

import pytest

from common.csv_tables import read_table


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_line_that_names_the_separator_is_not_the_heading(tmp_path, separator, end):
    path = tmp_path / "roster.csv"
    lines = [f"sep={separator}", f"id{separator}note", f'ann{separator}"late: 5,5; excused"', ""]
    path.write_bytes(("\ufeff" + end.join(lines)).encode())
    assert read_table(path, "a roster") == (["id", "note"], [(f"{path}, line 3", ["ann", "late: 5,5; excused"])])


def test_a_named_separator_counts_before_one_that_the_heading_holds(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("SEP=;\nid;last, first\nann;Lee, Ann\n")
    assert read_table(path, "a roster") == (["id", "last, first"], [(f"{path}, line 3", ["ann", "Lee, Ann"])])


def test_a_column_named_sep_stays_a_column(tmp_path):
    path = tmp_path / "roster.csv"
    path.write_text("sep;id\nx;ann\n")
    assert read_table(path, "a roster") == (["sep", "id"], [(f"{path}, line 2", ["x", "ann"])])


def test_empty_columns_at_the_end_are_left_out_and_others_are_not(tmp_path):
    path = tmp_path / "marks.csv"
    path.write_text("id,points,,\nann,3,,\nbob,4\neve,,\nzoe,5,,x\n,,,\n")
    lines = (["ann", "3"], ["bob", "4"], ["eve", ""], ["zoe", "5", "", "x"])
    assert read_table(path, "marks") == (["id", "points"], [(f"{path}, line {n}", cells) for n, cells in enumerate(lines, 2)])
