"""`python -m grader unpack`: a submission as a folder that a person can repair."""

import os
import stat
import tarfile
import zipfile

import pytest
from packing import ARCHIVES, WORK, tar_entry

from grader.__main__ import main


def files_below(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_all_files_are_unpacked_also_those_that_no_check_reads(pack, tmp_path, kind, capsys):
    work = {**WORK, "report/report.md": b"# Report\n", "notes.txt": b"what I did"}
    assert main(["unpack", str(pack(kind, work)), str(tmp_path / "new" / "folder")]) == 0
    assert files_below(tmp_path / "new" / "folder") == work
    assert f"holds {len(work)} files of" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ARCHIVES)
def test_a_file_that_is_written_where_a_link_was_stays_in_the_folder(pack, tmp_path, kind, capsys):
    victim = tmp_path / "victim"
    victim.write_text("mine")
    link, content = tar_entry("submission.toml", tarfile.SYMTYPE, str(victim)), b""
    if kind == ".zip":
        link, content = zipfile.ZipInfo("submission.toml"), os.fsencode(victim)
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
    work = {name: content for name, content in WORK.items() if name != "submission.toml"}
    members = [*work.items(), (link, content)]
    folder = tmp_path / "folder"
    assert main(["unpack", str(pack(kind, members)), str(folder)]) == 0
    assert files_below(folder) == work and not (folder / "submission.toml").is_symlink()
    assert "submission.toml stays out: a link or special file." in capsys.readouterr().out
    (folder / "submission.toml").write_text("engine.sources = []")
    assert victim.read_text() == "mine"


def test_a_name_that_leads_elsewhere_or_is_a_file_and_a_folder_stays_out(pack, tmp_path, capsys):
    members = {**WORK, "../evil.cpp": b"", "Minimax": b"a file"}
    assert main(["unpack", str(pack(".tar", members)), str(tmp_path / "folder")]) == 0
    assert files_below(tmp_path / "folder") == WORK and not (tmp_path / "evil.cpp").exists()
    assert "Minimax stays out: its name is also the name of a folder." in capsys.readouterr().out


def test_a_folder_in_use_a_missing_and_a_damaged_archive_get_one_sentence_and_change_nothing(pack, tmp_path, capsys):
    archive = pack(".tar.gz", {**WORK, "AlphaZero/z.py": bytes(range(256)) * 400})
    folder = tmp_path / "used"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    assert main(["unpack", str(archive), str(folder)]) == 2 and files_below(folder) == {"mine.txt": b"mine"}
    assert "expected a new or empty folder" in capsys.readouterr().err
    assert main(["unpack", str(tmp_path / "absent.zip"), str(tmp_path / "new")]) == 2
    assert "nothing is there" in capsys.readouterr().err
    archive.write_bytes(archive.read_bytes()[:-200])
    assert main(["unpack", str(archive), str(tmp_path / "new")]) == 2 and not (tmp_path / "new").exists()
    assert capsys.readouterr().err.count("\n") == 1
