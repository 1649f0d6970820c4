"""Submissions as folders and archives of every kind, written member by member: no packer would make the hostile ones."""

import io
import tarfile
import warnings
import zipfile

import pytest

from common.errors import UsageError
from grader.pipeline.submission import read_submission

ENGINE = "Minimax/engine.cpp"
WORK = {
    ENGINE: b"int engine;\n",
    "Minimax/parts/search.h": b"int search;\n",
    "AlphaZero/mcts_pure.py": b"pass\n",
    "submission.toml": b"[engine]\n",
}
KINDS = ("folder", ".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
ARCHIVES = (".zip", ".tar")


def tar_entry(name, kind=tarfile.REGTYPE, link=""):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname = kind, link
    return entry


def write_packed(path, kind, members):
    """Write a folder or an archive at a path.

    Args:
        members: {name: content}, or (name, content) pairs; a name may be a TarInfo or ZipInfo.
    """
    members = list(members.items()) if isinstance(members, dict) else members
    if kind == "folder":
        path.mkdir()
        for inside, content in members:
            (path / inside).parent.mkdir(parents=True, exist_ok=True)
            (path / inside).write_bytes(content)
    elif kind == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of doubled names
            for inside, content in members:
                archive.writestr(inside, content)
    else:
        mode = {".tar": "w", ".tgz": "w:gz"}.get(kind, "w:" + kind.rpartition(".")[2])
        with tarfile.open(path, mode) as archive:
            for inside, content in members:
                entry = inside if isinstance(inside, tarfile.TarInfo) else tarfile.TarInfo(inside)
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return path


@pytest.fixture
def pack(tmp_path):
    """`pack(kind, members, name)`: a folder or an archive (see `write_packed`)."""

    def make(kind, members, name="work"):
        return write_packed(tmp_path / (name if kind == "folder" else name + kind), kind, members)

    return make


@pytest.fixture
def read(tmp_path, assignment):
    """read_submission, which must write nothing."""

    def run(path):
        before = sorted(tmp_path.rglob("*"))
        try:
            return read_submission(path, assignment)
        finally:
            assert sorted(tmp_path.rglob("*")) == before

    return run


@pytest.fixture
def refusal(read):
    """The one sentence that reading a path ends with."""

    def run(path):
        with pytest.raises(UsageError) as caught:
            read(path)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return run
