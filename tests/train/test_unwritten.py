"""What the programs say of a stub that is missing or cannot be read as Python."""

import shutil
import subprocess
import sys

import pytest

from common import unwritten
from common.errors import UsageError
from common.unwritten import broken_student_file, students_faults_as_sentences

USES_OF_THE_STUBS = pytest.mark.parametrize(
    "program", [["train.py"], ["human_play.py", "--terminal"], ["-m", "training.look"]], ids=" ".join
)


@pytest.fixture
def own_folder(tmp_path, workspace):
    """A copy of the workspace whose AlphaZero/ a test may change."""
    for name in ("AlphaZero", "Board", "Minimax", "arena", "common", "training"):
        shutil.copytree(workspace / name, tmp_path / name)
    for name in ("train.py", "human_play.py", "model/3_3_3.model"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(workspace / name, tmp_path / name)
    return tmp_path


@USES_OF_THE_STUBS
def test_a_stub_under_another_name_is_named(own_folder, program):
    (own_folder / "AlphaZero/mcts_alphaZero.py").rename(own_folder / "AlphaZero/mcts_alphazero.py")
    done = subprocess.run([sys.executable, *program], cwd=own_folder, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.endswith(
        ": AlphaZero/mcts_alphaZero.py is missing; AlphaZero/mcts_alphazero.py has nearly this name: rename it.\n"
    )


@USES_OF_THE_STUBS
def test_a_stub_that_is_no_python_is_named_with_its_line(own_folder, program):
    stub = own_folder / "AlphaZero/mcts_alphaZero.py"
    stub.write_text(f"def broken(:\n{stub.read_text()}")
    done = subprocess.run([sys.executable, *program], cwd=own_folder, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert ": AlphaZero/mcts_alphaZero.py is not valid Python in line 1 (" in done.stderr and "def broken(:" in done.stderr


@USES_OF_THE_STUBS
def test_a_stub_that_was_saved_as_utf_16_is_named(own_folder, program):
    stub = own_folder / "AlphaZero/mcts_alphaZero.py"
    stub.write_text(stub.read_text(), encoding="utf-16")
    done = subprocess.run([sys.executable, *program], cwd=own_folder, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert ": AlphaZero/mcts_alphaZero.py contains null bytes, as a file in UTF-16 does: save it as UTF-8." in done.stderr


def test_null_bytes_are_named_where_they_are_a_value_error_and_another_one_is_not_changed(monkeypatch):
    """As Python raises it before 3.11.4."""
    with pytest.raises(ValueError, match=r"^null bytes$"), students_faults_as_sentences():
        raise ValueError("null bytes")
    monkeypatch.setattr(unwritten, "_contains_null_bytes", lambda path: path.endswith("mcts_pure.py"))
    with pytest.raises(UsageError, match=r"^AlphaZero/mcts_pure\.py contains null bytes"), students_faults_as_sentences():
        raise ValueError("null bytes")


@pytest.mark.parametrize("error", [SyntaxError("from no file"), SyntaxError("x", ("<string>", 1, 1, "y"))])
def test_a_syntax_error_elsewhere_is_none_of_a_stub(error):
    assert broken_student_file(error) == ""
