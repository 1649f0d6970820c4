"""Archives and folders that are hostile, too large or damaged: refused in one sentence, or listed, and never followed."""

import gzip
import io
import json
import lzma
import os
import random
import stat
import tarfile
import zipfile
import zlib

import pytest
from packing import ARCHIVES, ENGINE, KINDS, WORK, tar_entry

from grader.__main__ import main
from grader.assignment import Assignment
from grader.pipeline import archive, grading, submission
from grader.pipeline.workspace import build_workspace

# --------------------------------------------------------------------------------------- links and special files

LINK = "a link or special file"


def test_links_and_pipes_of_a_folder_are_listed_and_never_followed(pack, read, tmp_path):
    folder = pack("folder", WORK)
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "key.cpp").write_text("int secret;")
    (folder / "Minimax" / "linked.cpp").symlink_to(tmp_path / "secret" / "key.cpp")
    (folder / "Minimax" / "away").symlink_to(tmp_path / "secret", target_is_directory=True)
    os.mkfifo(folder / "AlphaZero" / "pipe.py")
    seen = read(folder)
    assert seen.files == WORK
    assert dict(seen.ignored) == {"Minimax/linked.cpp": LINK, "Minimax/away": LINK, "AlphaZero/pipe.py": LINK}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
@pytest.mark.parametrize("link", ["/etc/passwd", "../../evil", ENGINE])
def test_links_and_devices_of_a_tar_are_listed(pack, read, kind, link):
    seen = read(pack(".tar", [*WORK.items(), (tar_entry("Minimax/odd.cpp", kind, link), b"")]))
    assert seen.files == WORK and seen.ignored == (("Minimax/odd.cpp", LINK),)


def test_a_file_below_a_link_of_a_tar_does_not_follow_it(pack, read, tmp_path, assignment):
    away = tmp_path / "away"
    away.mkdir()
    members = [*WORK.items(), (tar_entry("Minimax/sub", tarfile.SYMTYPE, str(away)), b""), ("Minimax/sub/x.cpp", b"int x;")]
    build_workspace(assignment, read(pack(".tar", members)), tmp_path / "workspace")
    assert list(away.iterdir()) == [] and (tmp_path / "workspace/Minimax/sub/x.cpp").read_bytes() == b"int x;"


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFCHR, stat.S_IFIFO])
def test_links_and_devices_of_a_zip_are_listed(pack, read, kind):
    entry = zipfile.ZipInfo("Minimax/odd.cpp")
    entry.external_attr = (kind | 0o777) << 16
    seen = read(pack(".zip", [*WORK.items(), (entry, b"/etc/passwd")]))
    assert seen.files == WORK and seen.ignored == (("Minimax/odd.cpp", LINK),)


# ---------------------------------------------------------------------------------------------------- the caps


@pytest.mark.parametrize("kind", ["folder", *ARCHIVES])
def test_a_file_over_the_cap_is_listed_and_one_at_the_cap_counts(pack, read, monkeypatch, kind):
    monkeypatch.setattr(submission, "MAX_FILE_BYTES", 1 << 20)
    full = {**WORK, "Minimax/full.h": bytes(1 << 20)}
    seen = read(pack(kind, {**full, "Minimax/over.h": bytes((1 << 20) + 1)}))
    assert seen.files == full and seen.ignored == (("Minimax/over.h", "larger than 1 MiB"),)


@pytest.mark.parametrize("kind", ["folder", *ARCHIVES])
def test_files_over_the_cap_together_are_refused_and_what_does_not_count_is_not_summed(pack, read, refusal, monkeypatch, kind):
    monkeypatch.setattr(submission, "MAX_TOTAL_BYTES", 1 << 20)
    half = {"Minimax/a.h": bytes(1 << 19), "Minimax/b.h": bytes(1 << 19)}
    assert read(pack(kind, {**half, "weights.bin": bytes(1 << 20)}, "fits")).files == half
    sentence = refusal(pack(kind, {**half, "Minimax/c.h": b"1"}, "over"))
    assert sentence == "over: the files that count are larger than 1 MiB in total"


@pytest.mark.parametrize(("kind", "name"), [*((kind, "{}.txt") for kind in ("folder", *ARCHIVES)), (".zip", "__MACOSX/{}.txt")])
def test_more_files_than_the_cap_are_refused(pack, read, refusal, monkeypatch, kind, name):
    monkeypatch.setattr(archive, "MAX_ENTRIES", 9)
    members = {name.format(i): b"" for i in range(9)}
    assert read(pack(kind, members, "full")).files == {}
    assert "expected at most 9 " in refusal(pack(kind, {**members, "one_more": b""}, "over"))


@pytest.mark.parametrize("kind", ["folder", ".tar"])
def test_more_folders_than_the_cap_are_refused(pack, refusal, monkeypatch, kind):
    monkeypatch.setattr(archive, "MAX_ENTRIES", 9)
    path = pack(kind, [(tar_entry(f"d{i}", tarfile.DIRTYPE), b"") for i in range(10)] if kind == ".tar" else {})
    if kind == "folder":
        for i in range(10):
            (path / f"d{i}").mkdir()
    assert "expected at most 9 " in refusal(path)


@pytest.mark.parametrize("path", ["d{}/AlphaZero/x.py", "AlphaZero/AlphaZero/AlphaZero/{}.py"])
def test_the_work_for_finding_the_root_grows_with_the_files_alone(pack, read, monkeypatch, path):
    calls = []
    whole = Assignment.is_collected

    def counted(self, path):
        calls.append(path)
        return whole(self, path)

    monkeypatch.setattr(Assignment, "is_collected", counted)
    read(pack(".zip", {path.format(i): b"" for i in range(300)}))
    assert len(calls) <= 300 * 5


def test_of_many_other_copies_a_few_are_named(pack, read):
    seen = read(pack(".zip", {f"d{i}/AlphaZero/x.py": b"" for i in range(9)}))
    assert seen.notes[1].startswith("Files of the assignment were also found in d1, d2, d3, d4, d5, 3 more folders,")


@pytest.mark.parametrize("kind", [".tar", ".tar.gz", ".tar.bz2", ".tar.xz"])
def test_a_tar_that_unpacks_beyond_the_cap_is_refused_though_nothing_of_it_counts(pack, read, refusal, monkeypatch, kind):
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 1 << 20)
    assert read(pack(kind, {**WORK, "weights.bin": bytes(1 << 19)}, "fits")).files == WORK
    assert "at most 1 MiB are unpacked" in refusal(pack(kind, {**WORK, "weights.bin": bytes(1 << 20)}, "over"))


def test_zeros_without_end_behind_a_tar_are_refused(pack, refusal, monkeypatch):
    monkeypatch.setattr(archive, "MAX_UNPACKED_BYTES", 1 << 20)
    path = pack(".tar.gz", WORK)
    path.write_bytes(path.read_bytes() + gzip.compress(bytes(2 << 20)))
    assert "at most 1 MiB are unpacked" in refusal(path)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_tar_with_a_name_without_end_is_refused(pack, refusal, kind):
    members = [(tar_entry("long", kind), bytes(archive.MAX_HEADER_BYTES + 1)), *WORK.items()]
    assert "a name or attributes of 65537 bytes" in refusal(pack(".tar", members))


@pytest.mark.parametrize(
    ("size", "reason"), [("-512", "a size of "), ("-1024", "a size of "), ("1" + "0" * 30, "MiB are unpacked")]
)
def test_a_tar_with_a_size_that_cannot_be_is_refused(pack, refusal, size, reason):
    record = f" size={size}\n"
    records = f"{len(record) + 2}{record}".encode()
    assert reason in refusal(pack(".tar", [(tar_entry("x", tarfile.XHDTYPE), records), *WORK.items()]))


@pytest.mark.parametrize("records", [b"0 path=a\n", b"-9 path=a\n", b"path=a\n", b"9" * 20])
def test_a_tar_with_attributes_that_cannot_be_is_refused(pack, refusal, records):
    assert "damaged" in refusal(pack(".tar", [(tar_entry("x", tarfile.XHDTYPE), records), *WORK.items()]))


# ------------------------------------------------------------------------------------------ damaged, or no archive


@pytest.mark.parametrize("layout", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_and_attributes_of_every_kind_of_tar_are_understood(tmp_path, read, layout):
    work = {f"{'folder/' * 6}Minimax/{'n' * 90}.h": b"long", f"{'folder/' * 6}{ENGINE}": b"short"}
    with tarfile.open(tmp_path / "work.tar", "w", format=layout, pax_headers={"comment": "of all"}) as packed:
        for name, content in work.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.pax_headers = len(content), {"comment": "of\none", "mtime": "1.5"}
            packed.addfile(entry, io.BytesIO(content))
    assert read(tmp_path / "work.tar").files == {f"Minimax/{'n' * 90}.h": b"long", ENGINE: b"short"}


def test_the_folder_that_a_tar_was_made_in_is_nothing_to_list(pack, read):
    members = [(tar_entry("./", tarfile.DIRTYPE), b""), *((f"./{path}", content) for path, content in WORK.items())]
    seen = read(pack(".tar", members))
    assert seen.files == WORK and seen.ignored == ()


def test_a_tar_is_known_by_its_content_where_its_suffix_names_another_compression(pack, read):
    assert read(pack(".tar", WORK).rename(pack("folder", {}, "other") / "work.tar.gz")).files == WORK


def test_an_xz_that_needs_too_much_memory_is_refused_and_one_of_the_best_compression_is_read(pack, read, refusal, tmp_path):
    unpacked = lzma.decompress(pack(".tar.xz", WORK).read_bytes())
    best, greedy = tmp_path / "best.tar.xz", tmp_path / "greedy.tar.xz"
    best.write_bytes(lzma.compress(unpacked[:512], preset=9) + bytes(4) + lzma.compress(unpacked[512:], preset=9))
    assert read(best).files == WORK
    content = bytearray(lzma.compress(unpacked))
    content[16] = 40  # the size of the dictionary in the header of the first block: 4 GiB
    content[20:24] = zlib.crc32(content[12:20]).to_bytes(4, "little")
    greedy.write_bytes(content)
    assert "Memory usage limit exceeded" in refusal(greedy)


def test_a_tar_cut_between_two_members_is_refused(pack, refusal):
    path = pack(".tar", WORK)
    path.write_bytes(path.read_bytes()[:2048])
    assert "damaged" in refusal(path)


@pytest.mark.parametrize(
    "content", [b"", b"PK\3\4 no zip", b"\0" * 100, b"\x1f\x8b\x08 no gzip"], ids=["empty", "zip", "zeros", "gzip"]
)
@pytest.mark.parametrize("kind", [".zip", ".tar", ".tar.gz"])
def test_what_is_no_archive_of_its_kind_is_refused(tmp_path, refusal, kind, content):
    path = tmp_path / f"work{kind}"
    path.write_bytes(content)
    assert "is damaged, or is not the kind of archive that its name says" in refusal(path)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_a_truncated_archive_is_refused(pack, refusal, kind):
    path = pack(kind, {**WORK, "Minimax/big.h": os.urandom(100_000)})
    path.write_bytes(path.read_bytes()[:50_000])
    assert "damaged" in (sentence := refusal(path)) or "cannot be read to the end" in sentence


@pytest.mark.parametrize("inside", [WORK, {}])
def test_a_zip_cut_off_after_a_zip_inside_it_is_refused_and_not_taken_for_the_inner_one(tmp_path, read, refusal, inside):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        for path, content in inside.items():
            archive.writestr(path, content)
    path = tmp_path / "outer.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in ("a.zip", "b.zip", "c.zip"):
            archive.writestr(name, inner.getvalue())
    path.write_bytes(path.read_bytes()[: 2 * len(inner.getvalue()) + 80])
    assert zipfile.is_zipfile(path)  # the standard library finds the list of an inner one
    assert "the end of the zip is missing" in refusal(path)


def test_a_zip_that_unpacks_itself_is_read(pack, read):
    path = pack(".zip", WORK)
    path.write_bytes(b"MZ, a program that unpacks what follows" + path.read_bytes())
    assert read(path).files == WORK


@pytest.mark.parametrize("kind", [".zip", ".tar", ".tar.gz", ".tar.xz"])
def test_an_archive_damaged_in_the_middle_is_refused_and_never_read_in_part(pack, refusal, kind):
    numbers = random.Random(1)
    path = pack(kind, {f"Minimax/{i}.h": numbers.randbytes(500) for i in range(60)})
    content = bytearray(path.read_bytes())
    for i in range(len(content) // 2, len(content) // 2 + 1200):  # more than a header and a file
        content[i] ^= 0xFF
    path.write_bytes(content)
    assert "damaged" in refusal(path)


def test_a_member_larger_than_its_header_says_is_refused(pack, refusal):
    path = pack(".zip", {"Minimax/a.cpp": b"x" * 5000})
    path.write_bytes(path.read_bytes().replace((5000).to_bytes(4, "little"), (50).to_bytes(4, "little")))
    assert "Minimax/a.cpp cannot be read" in refusal(path)


def zip_with_header(path, offset, value):
    """The archive with one byte of its first member's entry in the central directory changed."""
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\1\2") + offset] = value
    path.write_bytes(content)
    return path


def test_an_encrypted_zip_is_refused(pack, refusal):
    sentence = refusal(zip_with_header(pack(".zip", {"Minimax/a.cpp": b"x"}), 8, 1))
    assert sentence == "work: Minimax/a.cpp cannot be read: it is encrypted; ask for an archive without a password"


@pytest.mark.parametrize(
    ("offset", "value", "words"),
    [(6, 200, "zip file version 20.0"), (10, 99, "expected the usual compression (deflate); this is number 99")],
    ids=["version of zip", "compression"],
)
def test_a_zip_made_in_an_unknown_way_is_refused(pack, refusal, offset, value, words):
    assert words in refusal(zip_with_header(pack(".zip", {"Minimax/a.cpp": b"x"}), offset, value))


@pytest.mark.parametrize("way", [zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2])
def test_a_zip_that_would_unpack_without_limit_is_refused_where_it_counts(tmp_path, read, refusal, way):
    path = tmp_path / "work.zip"
    with zipfile.ZipFile(path, "w", way) as packed:
        packed.writestr("notes.bin", b"x" * 3000)
    assert read(path).files == {}
    with zipfile.ZipFile(path, "a", way) as packed:
        packed.writestr("Minimax/a.cpp", b"x" * 3000)
    assert "Minimax/a.cpp cannot be read: expected the usual compression" in refusal(path)


def test_a_file_that_cannot_be_opened_is_one_sentence(pack, refusal, monkeypatch):
    folder = pack("folder", WORK)

    def denied(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(archive.os, "open", denied)
    sentence = refusal(folder)
    monkeypatch.undo()
    assert "Permission denied" in sentence


def test_an_archive_for_which_memory_does_not_suffice_is_one_sentence(pack, refusal, monkeypatch):
    archive_file = pack(".tar.gz", WORK)

    def exhausted(*_):
        raise MemoryError

    monkeypatch.setitem(archive.TAR_READERS, b"\x1f\x8b", exhausted)
    assert "MemoryError" in refusal(archive_file)


def test_other_packers_files_and_pipes_are_refused_with_what_to_do(tmp_path, refusal):
    (tmp_path / "work.rar").write_bytes(b"Rar!")
    os.mkfifo(tmp_path / "work.zip")
    for name in ("work.rar", "work.zip"):
        sentence = refusal(tmp_path / name)
        assert sentence.startswith("expected a folder or one of .zip, .tar") and sentence.endswith("and grade the folder")


# ------------------------------------------------------------------------------------------------ a whole class


def test_a_class_is_graded_to_its_end_whatever_one_submission_does(pack, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(grading, "build_opponent", lambda *_: None)
    monkeypatch.setattr(grading, "run_checks_here", lambda run, *_: grading.Ended(0, "", grading.environment(run.assignment)))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "occupied").write_text("where its results would be")
    damaged = pack(".zip", WORK, "damaged")
    damaged.write_bytes(damaged.read_bytes()[:100])
    class_ = [damaged, pack(".zip", WORK, "occupied"), pack(".zip", WORK, "sound")]
    assert main(["grade", *map(str, class_), "--profile", "smoke", "--out", str(tmp_path / "out")]) == 2
    told = sorted(capsys.readouterr().err.splitlines())  # they are graded side by side
    assert len(told) == 2 and all(line.startswith(str(path)) for line, path in zip(told, class_, strict=False))
    results = json.loads((tmp_path / "out" / "sound" / "results.json").read_text(encoding="utf-8"))
    assert results["files"]["collected"] == sorted(WORK)
