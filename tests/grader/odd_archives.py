"""What a class hands in, one of every kind: archives and folders that are odd, wrong, damaged or hostile.

    PYTHONPATH=. python tests/grader/odd_archives.py [FOLDER]

makes them (in a temporary folder, or in FOLDER, which is kept) and prints, for each, the outcome of reading it and the
message.
"""

import gzip
import os
import sys
import tarfile
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packing import tar_entry, write_packed

from common.errors import UsageError
from common.harmless_text import on_screen
from grader.assignment import ROOT
from grader.assignment_file import load_assignment
from grader.pipeline.archive import MAX_ENTRIES
from grader.pipeline.submission import absent_parts, read_submission
from grader.pipeline.summary import GRADED, REFUSED, UNSURE

ENGINE = "Minimax/engine.cpp"
PYTHON = (
    "AlphaZero/__init__.py",
    "AlphaZero/mcts_pure.py",
    "AlphaZero/mcts_alphaZero.py",
    "AlphaZero/policy_value_net_torch.py",
)
WORK = {ENGINE: b'#include "AIController.h"\n', **{path: f"# {path}\n".encode() for path in PYTHON}}
PDF = b"%PDF-1.7 report"
NOTHING = "No required file was found in "
RAR, SEVEN = b"Rar!\x1a\x07\x01\x00" + bytes(60), b"7z\xbc\xaf\x27\x1c\x00\x04" + bytes(60)


def below(folder, members=WORK):
    return {f"{folder}/{path}": content for path, content in members.items()}


@dataclass(frozen=True)
class Odd:
    """A submission, what reading it must come to, and words of the sentence.

    Attributes:
        kind: of packing; None where `members` is the file's content.
        change: what is done to the file's bytes at last.
    """

    file: str
    kind: str | None
    members: Any
    outcome: str = GRADED
    says: str = ""
    change: Any = None


def packed(kind, members):
    """An archive's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        return write_packed(Path(folder, f"inner{kind}"), kind, members).read_bytes()


def renamed(old, new):
    """Other bytes for a name of as many."""
    return lambda content: content.replace(old, new)


def cut(share):
    return lambda content: content[: int(len(content) * share)]


def marked(flags, way):
    """Every member of a .zip encrypted or compressed in a way, by what both of its headers say (APPNOTE.TXT, 4.3.7, 4.3.12)."""

    def change(content):
        content = bytearray(content)
        for magic, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
            place = -1
            while (place := content.find(magic, place + 1)) >= 0:
                content[place + at] |= flags
                if way is not None:
                    content[place + at + 2 : place + at + 4] = way.to_bytes(2, "little")
        return bytes(content)

    return change


def damaged(content):
    content = bytearray(content)
    for i in range(len(content) // 3, len(content) // 3 + 300):
        content[i] ^= 0xFF
    return bytes(content)


def tar_of_size(size):
    """A tar whose one member claims that size."""
    entry = tarfile.TarInfo("weights.bin")
    entry.size = size
    return gzip.compress(entry.tobuf() + bytes(1024))


def compressed_by(way):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.zip")
        with zipfile.ZipFile(path, "w", way) as archive:
            for name, content in WORK.items():
                archive.writestr(name, content * 50)
        return path.read_bytes()


def stubs():
    return {path: (ROOT / path).read_bytes() for path in PYTHON}


def one_of(*parts):
    return {path: content for path, content in WORK.items() if path.startswith(parts)}


def zip_link(name):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o120777 << 16
    return entry


CLUTTER = {
    "__MACOSX/._work": b"\0",
    "Minimax/._engine.cpp": b"\0\5\x16\7",
    ".DS_Store": b"\0",
    ".git/config": b"",
    "AlphaZero/__pycache__/mcts_pure.cpython-311.pyc": b"",
    "venv/lib/site.py": b"",
    "Minimax/engine": b"\x7fELF",
    "Board/game_board.py": b"",
    "Minimax/baseline.cpp": b"int weaker;",
}
HALF, ENGINE_ONLY = one_of("AlphaZero"), one_of("Minimax")
TWICE = "with different contents"
ODD = [
    # -------------------------------------------------------------------- as they should be, in every packing
    *(Odd(f"plain{kind}", kind, WORK) for kind in (".zip", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")),
    Odd("plain_folder", "folder", WORK),
    Odd("stubs_unchanged.zip", ".zip", {**stubs(), ENGINE: b""}),
    Odd("a_whole_copy_with_clutter.zip", ".zip", {**WORK, **CLUTTER}),
    Odd("report_beside.zip", ".zip", {**WORK, "report.pdf": PDF, "report/a.png": b""}),
    # ---------------------------------------------------------------------------------- understood, and noted
    Odd("one_folder_deep.zip", ".zip", below("gomoku-main"), says="found in gomoku-main/."),
    Odd("folder_in_folder.zip", ".zip", below("home/li/gomoku"), says="found in home/li/gomoku/."),
    Odd(
        "lower_case.zip",
        ".zip",
        {p.replace("Mini", "mini").replace("Alpha", "alpha"): c for p, c in WORK.items()},
        says="read as",
    ),
    Odd(
        "upper_case.tar",
        ".tar",
        {p.replace("Minimax", "MINIMAX"): c for p, c in WORK.items()},
        says="MINIMAX/ was read as Minimax/",
    ),
    Odd(
        "parts_side_by_side.zip",
        ".zip",
        below("part1", ENGINE_ONLY) | below("part2", HALF),
        says="part2/AlphaZero/ was read as",
    ),
    Odd("zip_in_zip.zip", ".zip", {"work.zip": packed(".zip", WORK)}, says="were found in work.zip, an archive inside"),
    Odd(
        "tar_in_zip_with_report.zip",
        ".zip",
        {"a/w.tgz": packed(".tgz", WORK), "a/r.pdf": PDF},
        says="were found in a/w.tgz, an archive inside",
    ),
    Odd(
        "Li Lei_4711_assignsubmission_file_",
        "folder",
        {"work.zip": packed(".zip", below("w"))},
        says="were found in work.zip, an archive inside",
    ),
    Odd("two_equal_copies.zip", ".zip", WORK | below("backup"), says="also found in backup, which were not used"),
    Odd("backslashes.zip", ".zip", {f"work\\{p}".replace("/", "\\"): c for p, c in WORK.items()}, says="found in work/."),
    Odd("tar_named.zip", None, packed(".tar.gz", WORK)),
    Odd("zip_named.tar.gz", None, packed(".zip", WORK)),
    Odd("unpacks_itself.zip", None, b"MZ" + bytes(500) + packed(".zip", WORK)),
    # ---------------------------------------------------------------------------------------------- odd names
    Odd("gbk_folder.zip", ".zip", below("work"), says="found in 作业/.", change=renamed(b"work", "作业".encode("gbk"))),
    Odd("gbk_report.zip", ".zip", {**WORK, "abcd.pdf": PDF}, change=renamed(b"abcd", "报告".encode("gbk"))),
    Odd("cp437_folder.zip", ".zip", below("caf_"), says="found in cafè/.", change=renamed(b"caf_", b"caf\x8a")),
    Odd("utf8_without_its_flag.zip", ".zip", below("wo@@"), says="found in woé/.", change=renamed(b"@@", "é".encode())),
    Odd("chinese_names.tar.gz", ".tar.gz", below("五子棋 作业"), says="found in 五子棋 作业/."),
    Odd("\x1b[2J\x1b]0;owned\x07name.zip", ".zip", WORK),
    Odd("=1+cmd|' calc'!A0.zip", ".zip", WORK),
    Odd("leads_out.zip", ".zip", {**WORK, "../../evil.py": b"", "/etc/evil": b"", "C:\\evil.py": b"", "a\x1b[2J.py": b""}),
    Odd("links.tar", ".tar", [*WORK.items(), (tar_entry("Minimax/a.cpp", tarfile.SYMTYPE, "/etc/passwd"), b"")]),
    Odd("links.zip", ".zip", [*WORK.items(), (zip_link("Minimax/a.cpp"), b"/etc/passwd")]),
    # ------------------------------------------------------------- nothing, or not all, of what was asked for
    Odd("empty.zip", ".zip", {}, UNSURE, "the submission is empty"),
    Odd("empty_folder", "folder", {}, UNSURE, "the submission is empty"),
    Odd(
        "flat.zip",
        ".zip",
        {p.split("/")[1]: c for p, c in WORK.items()},
        UNSURE,
        "the submission holds __init__.py, engine.cpp",
    ),
    Odd("engine_alone.zip", ".zip", ENGINE_ONLY, UNSURE, f"{NOTHING}AlphaZero/"),
    Odd("python_alone.zip", ".zip", HALF, UNSURE, f"{NOTHING}Minimax/"),
    Odd("report_alone.zip", ".zip", {"report.pdf": PDF}, UNSURE, "the submission holds report.pdf"),
    Odd("handed_out_files.zip", ".zip", HALF | {"Minimax/baseline.cpp": b""}, UNSURE, "Minimax/baseline.cpp (handed out"),
    Odd("folder_that_is_a_file.zip", ".zip", HALF | {"Minimax": b"engine"}, UNSURE, "Minimax is a file there, not a folder."),
    Odd("other_names.zip", ".zip", ENGINE_ONLY | {"AlphaGo/mcts.py": b""}, UNSURE, "the submission holds AlphaGo/mcts.py"),
    Odd("engine_of_3_mib.zip", ".zip", HALF | {ENGINE: bytes(3 << 20)}, UNSURE, "Minimax/engine.cpp (larger than 2 MiB)"),
    Odd(
        "two_zips_in_zip.zip",
        ".zip",
        {"a.zip": packed(".zip", WORK), "b.zip": b"PK"},
        UNSURE,
        "the submission holds a.zip, b.zip",
    ),
    Odd("zip_in_zip_in_zip.zip", ".zip", {"a.zip": packed(".zip", {"b.zip": packed(".zip", WORK)})}, UNSURE, "holds a/b.zip"),
    Odd("rar_in_zip.zip", ".zip", {"work.rar": RAR}, UNSURE, "holds work.rar. work.rar was not opened: hand in a .zip"),
    Odd("source_beside_zip.zip", ".zip", {"a.zip": packed(".zip", WORK), "plot.py": b""}, UNSURE, "a.zip was not opened"),
    Odd("source_as_docx.zip", ".zip", {"code.docx": b"PK"}, UNSURE, "the submission holds code.docx"),
    # ------------------------------------------------------------------------------- two candidates for a file
    Odd("two_copies.zip", ".zip", WORK | below("old", {**WORK, ENGINE: b"old"}), REFUSED, f"{ENGINE} and old/{ENGINE}"),
    Odd(
        "two_engines.zip",
        ".zip",
        below("a", HALF) | {"a/Minimax/x.cpp": b"", "b/minimax/y.cpp": b""},
        REFUSED,
        "a/Minimax/ and b/mini",
    ),
    Odd("two_in_case.zip", ".zip", {**WORK, "Minimax/Engine.cpp": b""}, REFUSED, "are the same file if case is ignored"),
    Odd("twins.zip", ".zip", [*WORK.items(), (ENGINE, b"second")], REFUSED, f"the archive holds {ENGINE} twice {TWICE}"),
    Odd("appended_to.tar", ".tar", [*WORK.items(), (ENGINE, b"newer")], REFUSED, f"the archive holds {ENGINE} twice {TWICE}"),
    # --------------------------------------------------------------------------------------- cannot be read
    Odd("nothing_in_it.zip", None, b"", REFUSED, "it has 0 bytes; ask for it again"),
    Odd("cut_off.zip", ".zip", WORK, REFUSED, "as after an interrupted upload", cut(0.6)),
    Odd("cut_off.tar.gz", ".tar.gz", WORK, REFUSED, "is damaged, or is not", cut(0.6)),
    Odd("damaged.zip", ".zip", {ENGINE: os.urandom(2000), **HALF}, REFUSED, "cannot be read", damaged),
    Odd("damaged.tar", ".tar", WORK, REFUSED, "is damaged, or is not", damaged),
    Odd(
        "encrypted.zip", ".zip", WORK, REFUSED, "cannot be read: it is encrypted; ask for an archive without a", marked(1, None)
    ),
    Odd("encrypted_by_aes.zip", ".zip", WORK, REFUSED, "it is encrypted with AES; ask for", marked(1, 99)),
    Odd("encrypted_inside.zip", ".zip", {"a.zip": marked(1, None)(packed(".zip", WORK))}, REFUSED, "it is encrypted"),
    Odd("lzma.zip", None, compressed_by(zipfile.ZIP_LZMA), REFUSED, "usual compression (deflate); this is LZMA"),
    Odd("bzip2.zip", None, compressed_by(zipfile.ZIP_BZIP2), REFUSED, "this is bzip2, so pack it again"),
    Odd("deflate64.zip", ".zip", WORK, REFUSED, "this is Deflate64, so pack it again", marked(0, 9)),
    Odd("rar_named.zip", None, RAR, REFUSED, "is a RAR archive, despite its name"),
    Odd("7z_named.zip", None, SEVEN, REFUSED, "is a 7z archive, despite its name"),
    Odd("packed.rar", None, RAR, REFUSED, "expected a folder or one of .zip"),
    Odd("packed.7z", None, SEVEN, REFUSED, "unpack it by hand and grade the folder"),
    Odd("web_page.zip", None, b"<!doctype html><p>Please log in", REFUSED, "is a web page (HTML), despite its name"),
    Odd("web_page.tar.gz", None, b"\xef\xbb\xbf\n<HTML lang=en><p>Log in", REFUSED, "is a web page (HTML), despite its name"),
    Odd("source.cpp", None, b"int main() {}", REFUSED, "expected a folder or one of .zip"),
    Odd("not_there.zip", "nothing", None, REFUSED, "nothing is there"),
    Odd("pipe.zip", "pipe", None, REFUSED, "expected a folder or one of .zip"),
    # --------------------------------------------------------------------------------------------- too much
    Odd(
        "too_many.zip",
        ".zip",
        {f"d/{i}": b"" for i in range(MAX_ENTRIES + 1)},
        REFUSED,
        f"expected at most {MAX_ENTRIES} files",
    ),
    Odd("claims_2_gib.tar.gz", None, tar_of_size(2 << 30), REFUSED, "1024 MiB are unpacked; pack it without folders"),
    Odd(
        "too_much_code.zip",
        ".zip",
        WORK | {f"Minimax/{i}.h": bytes(2 << 20) for i in range(17)},
        REFUSED,
        "larger than 32 MiB in total",
    ),
]


def make(odd, folder):
    """Put the submission into a folder; its path."""
    path = folder / odd.file
    if odd.kind == "pipe":
        os.mkfifo(path)
    elif odd.kind is None:
        path.write_bytes(odd.members)
    elif odd.kind != "nothing":
        write_packed(path, odd.kind, odd.members)
    if odd.change:
        path.write_bytes(odd.change(path.read_bytes()))
    return path


def outcome_of(path, assignment):
    """What grading would come to as far as reading decides it, and the sentence."""
    try:
        submission = read_submission(path, assignment)
    except UsageError as error:
        return REFUSED, str(error)
    absent = absent_parts(submission, assignment)
    return (UNSURE, " ".join(absent.values())) if absent else (GRADED, " ".join(submission.notes))


def main(folder):
    assignment = load_assignment()
    folder.mkdir(parents=True, exist_ok=True)
    width = max(len(on_screen(odd.file)) for odd in ODD)
    for odd in ODD:
        outcome, sentence = outcome_of(make(odd, folder), assignment)
        print(f"{on_screen(odd.file):{width}}  {outcome:15}  {on_screen(sentence.replace(f'{folder}/', ''))}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as place:
            main(Path(place))
