"""Class downloads as platforms make them, and the command that collects them."""

import csv
import io
import tarfile
import zipfile

import pytest
from packing import WORK, write_packed

from grader.__main__ import main

ROSTER = """id,first_name,last_name,email,canvas_id,moodle_id
s1,Alice,"Ada, Jr.",alice@example.org,101,
s2,José,Núñez,jose@example.org,,7002
s3,小明,李,ming@example.org,,
s4,Wei,Zhang,wei@example.org,104,
s5,Wei,Zhang,zhang@example.org,,
s6,=cmd,O'Hara,,,
2024007,Zoë,Müller-Weiß,zoe@example.org,,
"""
NOON = (2026, 12, 1, 12, 0, 0)


def packed(text="int engine;", kind=".zip", work=WORK):
    """A submission's archive; the text makes it differ from others."""
    buffer = io.BytesIO()
    if kind == ".zip":
        with zipfile.ZipFile(buffer, "w") as archive:
            for path, content in {**work, "Minimax/engine.cpp": text.encode()}.items():
                archive.writestr(zipfile.ZipInfo(path, NOON), content)
    else:
        with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
            entry = tarfile.TarInfo("Minimax/engine.cpp")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def at(name, time=NOON):
    """An entry of a download, last changed at a time."""
    info = zipfile.ZipInfo(name, time)
    info.create_system, info.external_attr = 3, 0o100644 << 16
    return info


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def collect(tmp_path, capsys):
    """Run the command; `.rows()` has the lines of collected.csv by id."""
    roster = tmp_path / "roster.csv"
    roster.write_text(ROSTER, encoding="utf-8")

    def run(*arguments, roster=roster):
        capsys.readouterr()
        with_roster = ["--roster", str(roster)] if roster else []
        run.code = main(["collect", *map(str, arguments), "--out", str(run.out), *with_roster])
        captured = capsys.readouterr()
        run.said, run.complaint = captured.out, captured.err
        return run.code

    def rows():
        content = (run.out / "collected.csv").read_bytes()
        assert content.startswith(b"\xef\xbb\xbf")
        found = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True))
        assert ",".join(found[0]) == "id,first_name,last_name,outcome,attempts,counted,submitted_at,late_minutes,note"
        return {row["id"]: row for row in found}

    run.rows, run.out = rows, tmp_path / "class"
    return run


@pytest.fixture
def download(tmp_path):
    """Write a class download: `download(members, kind, name)`."""

    def make(members, kind=".zip", name="download"):
        (tmp_path / "in").mkdir(exist_ok=True)
        return write_packed(tmp_path / "in" / (name if kind == "folder" else name + kind), kind, members)

    return make
