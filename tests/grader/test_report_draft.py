"""The draft of a report holds what was measured, says what is missing, and never replaces what a student wrote."""

import base64
import json
import sys
from dataclasses import replace

import pytest
from course_tools import make_results

from arena.engine.engine_process import Limits
from arena.engine.specs import engine_at
from arena.match.records import Records
from arena.match.referee import GameRecord
from arena.match.setup import MatchSetup
from arena.rules import Termination
from common.harmless_text import markdown_cell
from grader.__main__ import main
from grader.assignment import ROOT
from grader.assignment_file import load_named
from grader.pipeline.results import FAILED, read_results
from grader.student import commands, report_draft

MATCH = {
    "plays": 4,
    "distinct_games": 4,
    "seed": 5,
    "limits": {"move_s": 0.5},
    "machine": {"cores": 2, "processor": "A | <b>fast</b> one"},
    "agents": [
        {
            "path": path,
            "statistics": {"wins": wins, "draws": 0, "losses": 4 - wins, "score_rate": wins / 4, "interval_95": [low, high]},
            "losses_by": {"five": 4 - wins} if wins < 4 else {},
        }
        for path, wins, low, high in [("build/mine", 3, 0.3, 0.95), (f"{ROOT}/build/engines/baseline", 1, 0.05, 0.7)]
    ],
}
PROGRAM, TOLD_LESS = engine_at(sys.executable), Limits(move_s=5.0, told_move_s=0.4)
CURVES = (
    "games,loss,entropy,opponent_playouts,win_ratio,losing_lines,exact_playouts\n50,2.5,2.0,25,,,\n150,2.25,1.5,25,0.8,3,100\n"
)


@pytest.fixture
def measured(tmp_path, assignment):
    """A student's folder with checks, curves and a match; `measured(name)` writes a draft of this name, and returns it."""
    folder = tmp_path / "build" / "check" / "me"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    failed = {"status": FAILED, "points": 0.0, "message": "expected 1 | got <script>"}
    make_results(assignment, "me", {"network.load": failed}).sealed(folder).write(folder)
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / "training.csv").write_text(CURVES)
    (tmp_path / "tmp" / "training.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    match = tmp_path / "match.json"
    match.write_text(json.dumps(MATCH))

    def draft(name, **options):
        said = []
        assert report_draft.main(tmp_path / name, [match], said.append, root=tmp_path, **options) == 0
        return said[0], (tmp_path / name).read_text()

    return draft


def test_the_draft_holds_the_figures_of_checks_match_and_training(measured):
    _, text = measured("report.md")
    assert "| network.load | 0 of 1 | failed | expected 1 \\| got \\<script\\> |" in text
    assert "| build/mine | 3 | 0 | 1 | 0.75, 0.30 to 0.95 | five 1 |" in text
    assert "| build/engines/baseline | 1 | 0 | 3 |" in text
    assert "at most 0.5 s a move, seed 5" in text and "A \\| \\<b\\>fast\\</b\\> one" in text
    assert "150 games; at the end a loss of 2.25, an entropy of 1.50" in text
    assert "| 150 | 0.8 | 25 | 3 | 100 |" in text and "| 50 |" not in text
    assert "--only" not in text


def test_the_draft_takes_the_records_of_a_match_too(tmp_path):
    records = Records(tmp_path / "baseline.jsonl", MatchSetup((PROGRAM, PROGRAM), 4, 5, TOLD_LESS))
    for index in range(4):
        winner = int(index == 3)
        moves, names = ((7, 7), (index, 0)), ("mine", "theirs")
        records.append(
            GameRecord(index, 0, winner, Termination.FIVE, None, "", moves, (), (), (), names, 1, None, 15, False, 0.0)
        )
    assert main(["report-draft", "--out", str(tmp_path / "draft.md"), "--match", str(records.path)]) == 0
    text = (tmp_path / "draft.md").read_text()
    assert "| 3 | 0 | 1 | 0.75, 0.30 to 0.95 | five 1 |" in text
    assert "4 games (4 distinct), at most 5 s a move, engines told to plan for 0.4 s, seed 5" in text


def test_the_picture_of_a_markdown_report_lies_where_it_is_packed(measured, tmp_path):
    for name, link in (("report.md", "report/training.svg"), ("report/mine.md", "training.svg")):
        assert f"![AlphaZero]({link})" in measured(name)[1]
    (tmp_path / "tmp" / "training.svg").write_text("<svg/>")  # a later run does not change the picture of an earlier report
    assert "![AlphaZero](report/training.1.svg)" in measured("later.md")[1]
    assert (tmp_path / "report" / "training.svg").read_text() != (tmp_path / "report" / "training.1.svg").read_text()


def test_the_draft_says_that_the_last_check_was_not_a_whole_one(measured, tmp_path, assignment):
    folder = tmp_path / "build" / "check" / "me"
    results = read_results(folder / "results.json")
    one = [verdict for verdict in results.verdicts if verdict.id == "network.load"]
    replace(results, verdicts=tuple(one)).write(folder)
    total = len(assignment.checks) - sum(map(len, assignment.long_checks.values()))
    sentence = f"The last check ran with --only, so {total - 1} of {total} checks are missing here"
    assert sentence in measured("report.md")[1]


def test_a_section_is_answered_when_its_line_in_italics_is_gone(measured):
    for name in ("report.md", "draft.ipynb"):
        text = measured(name)[1]
        assert report_draft.unanswered(text) == list(report_draft.TO_WRITE)
        assert "Engine" not in report_draft.unanswered(text.replace("*Describe search", "The search is"))


def test_the_notebook_is_valid_and_carries_its_picture(measured):
    nbformat = pytest.importorskip("nbformat")
    _, text = measured("report/draft.ipynb")
    notebook = nbformat.reads(text, 4)
    nbformat.validate(notebook)
    pictures = [cell.attachments for cell in notebook.cells if "attachments" in cell]
    assert len(pictures) == 1 and base64.b64decode(pictures[0]["picture.svg"]["image/svg+xml"]).startswith(b"<svg")
    assert {cell.cell_type for cell in notebook.cells} == {"markdown"}


def test_a_report_that_exists_is_kept_unless_force_is_given(measured, tmp_path):
    measured("report.md")
    assert "already holds these figures" in measured("report.md")[0]
    (tmp_path / "report.md").write_text("what I wrote")
    said, text = measured("report.md")
    assert text == "what I wrote" and "report.md stays as it is" in said
    assert "## Win rates" in (tmp_path / "report.1.md").read_text()
    assert "already holds" in measured("report.md")[0] and not (tmp_path / "report.2.md").exists()
    assert "## Win rates" in measured("report.md", force=True)[1]


def test_what_was_not_measured_is_named_with_the_command_that_measures_it(tmp_path, monkeypatch, assignment):
    monkeypatch.setattr(type(assignment), "opponent", "my_rung")
    report_draft.main(tmp_path / "draft.md", [], print, root=tmp_path)
    text = (tmp_path / "draft.md").read_text()
    for command in ("python -m grader check", "python train.py --seed 1", "build/my_engine build/engines/my_rung "):
        assert command in text


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"agents": 3}', json.dumps({**MATCH, "limits": {}}), "\udcff" * 3])
def test_a_file_that_is_no_match_gets_a_sentence(tmp_path, capsys, content):
    path = tmp_path / "match.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert main(["report-draft", "--out", str(tmp_path / "draft.md"), "--match", str(path)]) == 2
    assert "expected a file that evaluate.py --json wrote" in capsys.readouterr().err
    assert not (tmp_path / "draft.md").exists()


def test_damaged_curves_and_another_suffix_get_a_sentence(tmp_path, capsys):
    (tmp_path / "tmp").mkdir()
    for content in (b"", b"games\n3\n", b"games,loss,entropy,win_ratio,losing_lines\nx,y,z,,\n", b"\xff\xfe"):
        (tmp_path / "tmp" / "training.csv").write_bytes(content)
        with pytest.raises(report_draft.UsageError, match="cannot be read: train again"):
            report_draft.main(tmp_path / "draft.md", [], print, root=tmp_path)
    assert main(["report-draft", "--out", str(tmp_path / "draft.docx")]) == 2
    assert "ends in .ipynb or .md" in capsys.readouterr().err


def test_env_names_the_versions_and_the_compiler(capsys):
    assert main(["env"]) == 0
    out = capsys.readouterr().out
    for name in ("System", "Processor", "Cores available", "Memory", "Python", "PyTorch", "g++"):
        assert f"\n{name}: " in f"\n{out}"


def test_a_lab_has_surroundings_without_a_compiler_and_no_report_to_draft(monkeypatch, capsys):
    for module in (commands, report_draft):
        monkeypatch.setattr(module, "load_assignment", lambda: load_named("nogo"))
    assert main(["env"]) == 0
    said = capsys.readouterr().out
    assert "NumPy: " in said and "Compiled by" not in said and "g++" not in said
    assert main(["report-draft"]) == 2
    assert "expected an assignment with a report; " in capsys.readouterr().err


def test_a_cell_of_markdown_stays_one_cell_whatever_it_holds():
    assert markdown_cell("a|b\n<i>`x`") == "a\\|b \\<i\\>\\`x\\`"
