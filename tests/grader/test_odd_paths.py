"""`python -m grader` with a path on the command line that no file can have."""

import pytest

from grader.__main__ import main

COMMANDS = (
    "grade {}",
    "grade full --out {}",
    "workspace {} new",
    "workspace full {}",
    "collect {} --out new",
    "collect full --out {}",
    "unpack full {}",
    "replay {}",
    "marks full --students full --out new --course {}",
    "similarity {} full --out new",
    "similarity full full --out {}",
    "similarity full --out new --earlier {}",
    "similarity full full --out new --handed-out {}",
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["loop", "n" * 300])
def test_a_link_to_itself_and_a_name_that_is_too_long_get_one_sentence(command, name, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").touch()
    (tmp_path / "loop").symlink_to("loop")
    assert main([word.format(name) for word in command.split()]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(("grader: ", "expected ")) and "Traceback" not in said
