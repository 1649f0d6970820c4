"""A folder that one process holds is closed to others, and a failure leaves no trace of it."""

import os

import pytest

from common.errors import UsageError
from common.locks import LOCK, held_folder


def content(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_that_is_held_is_refused_with_the_process_that_holds_it(tmp_path):
    folder = tmp_path / "new" / "folder"
    with held_folder(folder, by="grader"):
        with pytest.raises(UsageError, match=rf"another grader \(process {os.getpid()} on .*\) is writing to {folder}"):
            held_folder(folder, by="grader").__enter__()
        (folder / "work").touch()
    with held_folder(folder, by="grader"):
        assert content(folder) == [LOCK, "work"]


def test_a_failure_removes_the_new_folders_in_which_nothing_was_written(tmp_path):
    (tmp_path / "above").mkdir()
    with pytest.raises(UsageError), held_folder(tmp_path / "above" / "new" / "folder", by="grader"):
        raise UsageError("no")
    assert content(tmp_path) == ["above"] and content(tmp_path / "above") == []


def test_a_failure_keeps_what_was_written_and_folders_that_were_there(tmp_path):
    (tmp_path / "empty").mkdir()
    for name, written in (("empty", LOCK), ("new", "work")):
        held = held_folder(tmp_path / name, by="grader")
        held.__enter__()
        (tmp_path / name / written).touch()
        assert not held.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    assert content(tmp_path / "empty") == [LOCK] and content(tmp_path / "new") == [LOCK, "work"]


def test_a_file_in_the_place_of_the_folder_gets_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match=r"expected a folder at .*/file/folder, which cannot be used"):
        held_folder(tmp_path / "file" / "folder", by="grader").__enter__()


def test_a_file_system_without_locks_gets_a_sentence(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(9, "Bad file descriptor")

    monkeypatch.setattr("fcntl.flock", refused)
    with pytest.raises(UsageError, match="cannot be locked against another grader: Bad file descriptor"):
        held_folder(tmp_path, by="grader").__enter__()
