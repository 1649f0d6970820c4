"""`python -m grader submit`: the archive counts as the folder does, and what is missing is said."""

import json
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UsageError
from grader.pipeline import submission
from grader.pipeline.archive import write_archive
from grader.pipeline.handed_out import DIGESTS, digests_of
from grader.pipeline.submission import read_submission
from grader.student import submit
from grader.student.report_draft import TO_WRITE

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "instructor" / "reference"


@pytest.fixture
def folder(tmp_path):
    """A finished student's folder with what lies about in one."""
    place = tmp_path / "work"
    shutil.copytree(REFERENCE, place)
    for name in ("Board/game_board.py", "Minimax/baseline.cpp", "Minimax/AIController.h", "train.py"):
        (place / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, place / name)
    for name in ("report.pdf", "report/figure.png", "notes.txt", "model/best_policy.model", "build/engine", ".venv/x.py"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(name)
    return place


def names(archive):
    with zipfile.ZipFile(archive) as opened:
        return sorted(opened.namelist())


def test_the_kits_archive_is_graded_as_its_folder(kit, tmp_path, assignment):
    shutil.copytree(REFERENCE / "AlphaZero", kit.folder / "AlphaZero", dirs_exist_ok=True)
    # An engine that answers at once: this is about the archive.
    shutil.copyfile(kit.folder / "Minimax/sample.cpp", kit.folder / "Minimax/mine.cpp")
    (kit.folder / "report.md").write_text("# Report")
    done = kit("submit", "--out", tmp_path / "alice.zip")
    (warning,) = done.stderr.splitlines()
    assert done.returncode == 0 and "Minimax/mine.cpp has 100% in common with Minimax/sample.cpp" in warning
    collected = read_submission(kit.folder, assignment)
    assert names(tmp_path / "alice.zip") == sorted([*collected.files, "report.md"])
    checks = ("minimax.build", "mcts_pure", "network.layers")  # test_check.py has the kit decide the others
    only = [word for name in checks for word in ("--only", name)]
    done = kit("grade", tmp_path / "alice.zip", "--profile", "smoke", *only)
    assert done.returncode == 0, done.stdout + done.stderr
    results = json.loads((kit.folder / "results/alice/results.json").read_text())
    assert results["digest"] == collected.digest and results["files"]["reports"] == ["report.md"]
    assert results["ignored"] == [] and results["could_not_grade"] == []
    passed = {check["id"] for check in results["checks"] if check["status"] == "passed"}
    assert passed == {check.id for name in checks for check in assignment.named(name)}


def test_exactly_what_counts_is_packed_and_listed_without_a_warning(folder, tmp_path, assignment, capsys):
    assert submit.main(tmp_path / "bob.zip", folder) == 0
    reference = [p.relative_to(REFERENCE).as_posix() for p in REFERENCE.rglob("*") if p.suffix in (".py", ".cpp", ".h")]
    assert names(tmp_path / "bob.zip") == sorted([*reference, "report.pdf", "report/figure.png"])
    said = capsys.readouterr()
    listed = [line.strip() for line in said.out.splitlines() if line.startswith("  ")]
    assert listed == names(tmp_path / "bob.zip") and said.err == ""
    assert said.out.endswith(f"\nNext: hand in {tmp_path / 'bob.zip'}.\n")
    assert read_submission(tmp_path / "bob.zip", assignment).digest == read_submission(folder, assignment).digest


def test_what_is_missing_is_said_in_a_sentence_each(folder, tmp_path, capsys):
    (folder / "report.pdf").unlink()
    shutil.rmtree(folder / "report")
    (folder / "AlphaZero/mcts_pure.py").unlink()
    shutil.copyfile(ROOT / "AlphaZero/mcts_alphaZero.py", folder / "AlphaZero/mcts_alphaZero.py")
    for source in folder.glob("Minimax/*.cpp"):
        source.unlink()
    (folder / "Minimax/table.h").write_text("//" * (1 << 20) + "\n")
    assert submit.main(tmp_path / "carol.zip", folder) == 0
    expected = [
        "AlphaZero/mcts_pure.py is missing.",
        "AlphaZero/mcts_alphaZero.py is not finished: MCTS._playout, section 5.4, and ",
        "There is no engine",
        "There is no report",
        "Minimax/table.h does not count: larger than 2 MiB.",
    ]
    out, err = capsys.readouterr()
    assert out.splitlines()[-1].startswith("Next: fix what the warnings name, run this command again, and hand in ")
    said = err.splitlines()
    assert len(said) == len(expected)
    for line, words in zip(said, expected, strict=True):
        assert line.startswith(f"Warning: {words}")


def test_a_report_that_is_still_a_draft_and_a_picture_left_behind_are_named(folder, tmp_path, capsys):
    (folder / "report/figure.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    shown = "![a](report/figure.png) ![b](https://example.org/x.png) ![c](tmp/training%20run.svg)"
    (folder / "report.md").write_text(f"*{TO_WRITE['Engine']}*\n\n{shown}\n\n*{TO_WRITE['Problems']}*\n")
    assert submit.main(tmp_path / "heidi.zip", folder) == 0
    assert capsys.readouterr().err.splitlines() == [
        "Warning: report.md is not finished: it still has the draft's lines in italics below Engine, Problems.",
        "Warning: report.md shows tmp/training run.svg, which is not packed: put it into report/ and change the link.",
        "Warning: report.md shows https://example.org/x.png, which the person who marks will not see: put the picture into "
        "report/.",
    ]


def test_what_the_marker_will_not_see_of_a_report_is_named(folder, tmp_path, capsys):
    svg = '<svg xmlns="http://www.w3.org/2000/svg">{}</svg>'
    cells = [
        {"cell_type": "markdown", "source": ["![a](drawn.svg)\n", "![b](styled.svg) ![c](attachment:x.png)"]},
        {"cell_type": "code", "source": "1", "outputs": [{"output_type": "stream"}]},
    ]
    files = {
        "draft.ipynb": json.dumps({"cells": cells}),
        "broken.ipynb": "[]",
        "drawn.svg": svg.format("<rect/>"),
        "styled.svg": svg.format("<style/>"),
        "alone.svg": svg.format(""),
        "page.html": "<p>",
        "times.csv": "1,2",
        "plot.py": "x = 1",
    }
    for name, text in files.items():
        (folder / "report" / name).write_text(text)
    (folder / "report/figures.xlsx").write_bytes(b"PK\xff")
    assert submit.main(tmp_path / "ivan.zip", folder) == 0
    source = "The person who marks will see only the source text of"
    assert sorted(line.removeprefix("Warning: report/") for line in capsys.readouterr().err.splitlines()) == [
        "Warning: The person who marks may not be able to open report/figures.xlsx: use PDF, Markdown or PNG.",
        f"Warning: {source} report/alone.svg: use PDF, Markdown or PNG.",
        f"Warning: {source} report/page.html: use PDF, Markdown or PNG.",
        "broken.ipynb is not a notebook, so nobody can read it.",
        "draft.ipynb has code cells with outputs, which the person who marks will not see: put them into text cells.",
        "draft.ipynb shows report/styled.svg, which contains <style>: the person who marks will not see it. Save it as PNG.",
    ]


def test_a_report_beyond_the_limits_is_named_once_and_its_picture_is_not_called_unpacked(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(submission, "MAX_REPORT_BYTES", 100)
    for name in ("a", "b", "c", "large"):
        (folder / f"report/{name}.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    (folder / "report.md").write_text("![large](report/large.png)")
    assert submit.main(tmp_path / "judy.zip", folder) == 0
    (said,) = capsys.readouterr().err.splitlines()
    names = ", ".join(f"report/{name}.png" for name in ("a", "b", "c", "large"))
    assert said.startswith(f"Warning: The person who marks will not see {names}, because only ")


def test_files_that_lie_deeper_than_the_top_are_not_packed_as_if_they_lay_there(folder, tmp_path):
    shutil.move(folder, tmp_path / "outer" / "work")
    with pytest.raises(UsageError, match=r"expected your files at the top of .*The submission's files were found in work/\."):
        submit.main(tmp_path / "dave.zip", tmp_path / "outer")
    assert not (tmp_path / "dave.zip").exists()


@pytest.mark.parametrize(
    ("name", "words"), [("erin.tar", "a name that ends in .zip"), ("nowhere/erin.zip", "erin.zip was not written")]
)
def test_a_name_that_cannot_be_written_gets_one_sentence(folder, tmp_path, name, words):
    with pytest.raises(UsageError, match=words) as caught:
        submit.main(tmp_path / name, folder)
    assert "\n" not in str(caught.value)


def test_python_that_is_saved_as_utf_16_is_named(folder, tmp_path, capsys):
    (folder / "AlphaZero/mcts_pure.py").write_text("import numpy\n", encoding="utf-16")
    submit.main(tmp_path / "gina.zip", folder)
    said = capsys.readouterr().err
    assert "mcts_pure.py is not valid Python: source code string cannot contain null bytes (save it as UTF-8)." in said


def test_python_in_utf_16_is_named_where_null_bytes_are_a_value_error(folder, tmp_path, capsys, monkeypatch):
    """As Python raises it before 3.11.4."""

    def refuse(*_):
        raise ValueError("source code string cannot contain null bytes")

    monkeypatch.setattr(submit.ast, "parse", refuse)
    test_python_that_is_saved_as_utf_16_is_named(folder, tmp_path, capsys)


def test_packing_again_replaces_the_archive_and_leaves_nothing_beside_it(folder):
    archive = folder / "submission.zip"
    submit.main(archive, folder)
    (folder / "AlphaZero/more.py").write_text("x = 1\n")
    submit.main(archive, folder)
    assert "AlphaZero/more.py" in names(archive) and "submission.zip" not in names(archive)
    assert [path.name for path in folder.glob(".*")] == [".venv"]


@pytest.mark.parametrize("kind", ["photographs", "a zip in name only", "a folder"])
def test_a_file_that_no_earlier_call_packed_is_not_replaced(folder, tmp_path, kind):
    place = tmp_path / "holiday.zip"
    if kind == "a folder":
        place.mkdir()
    elif kind == "photographs":
        write_archive({"AlphaZero/mcts_pure.py": b"x = 1", "sea.jpg": b"blue"}, place)
    else:
        place.write_bytes(b"")
    before = place.read_bytes() if place.is_file() else b""
    with pytest.raises(UsageError, match=r"holiday\.zip is something else: name another file, or move that one away"):
        submit.main(place, folder)
    assert place.is_dir() or place.read_bytes() == before


def test_a_name_that_is_nearly_right_and_a_syntax_error_are_named(folder, tmp_path, capsys):
    (folder / "AlphaZero/mcts_alphaZero.py").rename(folder / "AlphaZero/mcts_alphazero.py")
    (folder / "AlphaZero/mcts_pure.py").write_text("import numpy\n\ndef f(:\n")
    for source in [*folder.glob("Minimax/*.cpp"), *folder.glob("Minimax/*.h")]:
        source.unlink()
    (folder / "Minimax/my_engine.c++").write_text("int main() {}")
    submit.main(tmp_path / "frank.zip", folder)
    said = [line.removeprefix("Warning: ") for line in capsys.readouterr().err.splitlines()]
    assert said[:3] == [
        "AlphaZero/mcts_alphaZero.py is missing; AlphaZero/mcts_alphazero.py has nearly this name: rename it.",
        "Minimax/my_engine.c++ does not count, because its name ends in .c++: rename it to Minimax/my_engine.cpp.",
        "AlphaZero/mcts_pure.py, line 3, is not valid Python: invalid syntax.",
    ]
    assert said[3].startswith("There is no engine") and len(said) == 4


def test_a_changed_file_of_ours_and_a_copy_of_the_example_are_named(folder, tmp_path, assignment, capsys):
    ours = {name: (folder / name).read_bytes() for name in ("Minimax/baseline.cpp", "train.py")}
    (folder / "grader").mkdir()
    (folder / DIGESTS).write_bytes(digests_of({**ours, "AlphaZero/mcts_pure.py": b""}, assignment))
    submit.main(tmp_path / "grace.zip", folder)
    assert capsys.readouterr().err == ""
    (folder / "train.py").write_text("games = 1")
    for source in [*folder.glob("Minimax/*.cpp"), *folder.glob("Minimax/*.h")]:
        source.unlink()
    shutil.copyfile(ROOT / "Minimax/sample.cpp", folder / "Minimax/mine.cpp")
    submit.main(tmp_path / "grace.zip", folder)
    changed, copied = capsys.readouterr().err.splitlines()
    assert changed.startswith("Warning: train.py has been changed, but grading uses its own copy")
    assert copied.startswith("Warning: Minimax/mine.cpp has 100% in common with Minimax/sample.cpp")


def test_a_python_that_is_newer_than_the_one_that_grades_is_named_once(folder, tmp_path, assignment, capsys):
    older = replace(assignment, python="3.10")
    submit.main(tmp_path / "heidi.zip", folder, older)
    seen = capsys.readouterr()
    assert seen.out.count("but grading uses 3.10") == 1 and seen.err == ""
