"""Every kind of archive that a class hands in: what reading it comes to, and the sentence; odd_archives.py prints a table."""

import zipfile

import pytest
from odd_archives import ODD, WORK, make, outcome_of

from grader.pipeline.submission import read_submission
from grader.pipeline.summary import GRADED


def test_there_are_many_and_of_every_outcome():
    assert len({odd.file for odd in ODD}) == len(ODD) >= 41
    assert len({odd.outcome for odd in ODD}) == 3


@pytest.mark.parametrize("odd", ODD, ids=[f"{number}" for number in range(len(ODD))])
def test_an_odd_archive_comes_to_its_outcome_with_its_sentence(odd, tmp_path, assignment):
    outcome, sentence = outcome_of(make(odd, tmp_path), assignment)
    assert (outcome, odd.says in sentence) == (odd.outcome, True), f"{odd.file}: {outcome}: {sentence}"
    assert "\n" not in sentence and (outcome == GRADED or sentence)


@pytest.mark.parametrize("odd", [odd for odd in ODD if odd.outcome == GRADED and odd.file != "stubs_unchanged.zip"])
def test_what_is_graded_is_the_same_work_however_it_came(odd, tmp_path, assignment):
    assert read_submission(make(odd, tmp_path), assignment).files == dict(sorted(WORK.items()))


@pytest.mark.parametrize(
    ("file", "reports"),
    [("gbk_report.zip", ("报告.pdf",)), ("tar_in_zip_with_report.zip", ("r.pdf",)), ("report_alone.zip", ("report.pdf",))],
)
def test_reports_are_found_in_odd_archives_too(file, reports, tmp_path, assignment):
    (odd,) = [odd for odd in ODD if odd.file == file]
    seen = read_submission(make(odd, tmp_path), assignment)
    assert seen.reports == tuple(seen.report_files) == reports


def test_the_entries_of_a_zip_are_counted_before_anything_is_made_of_them(tmp_path, assignment, monkeypatch):
    (odd,) = [odd for odd in ODD if odd.file == "too_many.zip"]
    path = make(odd, tmp_path)
    made = []
    monkeypatch.setattr(zipfile, "ZipInfo", lambda *_: made.append(1))
    assert "expected at most" in outcome_of(path, assignment)[1] and not made
