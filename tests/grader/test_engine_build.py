"""Which sources are a submission's engine, and the sentence for those that make none."""

import dataclasses
import os

import pytest

from grader.engine_build import build_engine, build_opponent, engine_sources, require_compiler
from grader.errors import CouldNotGrade, StudentFault, UsageError
from grader.sandbox import find_sandbox
from grader.submission import Submission

ENGINE = b'#include "AIController.h"\n'
OWN = {"Minimax/engine.cpp": ENGINE, "Minimax/parts/search.cc": b"", "Minimax/parts/search.h": b"", "AlphaZero/a.py": b""}


@pytest.fixture
def sources(assignment):
    """The engine's sources among the given files, with `listed` as submission.toml."""

    def find(files, listed=None):
        files = files if listed is None else {**files, "submission.toml": listed}
        return engine_sources(Submission("work", files, (), (), ()), assignment)

    return find


@pytest.fixture
def fault(sources):
    """The one sentence in place of sources."""

    def find(files, listed=None):
        with pytest.raises(StudentFault) as caught:
            sources(files, listed)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return find


def test_every_collected_source_below_the_engine_folder_is_the_engine(sources):
    assert sources(OWN) == ["Minimax/engine.cpp", "Minimax/parts/search.cc"]


@pytest.mark.parametrize(
    "include",
    [
        b'#include "AIController.h"',
        b"  #  include <AIController.h> // protocol",
        b'#include "../AIController.h"\r\n',
        b'\xef\xbb\xbf#include "AIController.h"',
        b'// \xd2\xfd\xc7\xe6\n#include "AIController.h"',
    ],
    ids=["plain", "spaced", "from a subfolder", "after a byte order mark", "below a GBK comment"],
)
def test_an_engine_is_known_by_its_include_however_that_is_written(sources, include):
    assert sources({"Minimax/engine.cpp": include}) == ["Minimax/engine.cpp"]


def test_an_engine_may_include_the_header_through_one_of_its_own(sources):
    files = {"Minimax/engine.cpp": b'#include "engine.h"\n', "Minimax/engine.h": ENGINE}
    assert sources(files) == ["Minimax/engine.cpp"]


def test_headers_that_include_each_other_end(fault):
    ring = {"Minimax/a.cpp": b'#include "b.h"', "Minimax/b.h": b'#include "c.h"', "Minimax/c.h": b'#include "b.h"'}
    assert fault(ring).startswith("No .cpp file in Minimax/ includes")


def test_two_engines_side_by_side_are_both_named_with_what_to_do(fault, sources):
    two = {**OWN, "Minimax/old/engine_v1.cpp": ENGINE}
    assert fault(two) == (
        "Two engines stand side by side (Minimax/engine.cpp, Minimax/old/engine_v1.cpp): name the sources of the one that "
        'counts in submission.toml, for example: [engine] sources = ["Minimax/engine.cpp"].'
    )
    assert sources(two, b'[engine]\nsources = ["Minimax/old/engine_v1.cpp"]') == ["Minimax/old/engine_v1.cpp"]


def test_a_submission_without_a_source_of_its_own_has_no_engine(fault):
    assert fault({"AlphaZero/a.py": b"", "Minimax/engine.h": ENGINE}).startswith("No engine was found: expected a .cpp file")


def test_sources_without_the_header_are_no_engine(fault):
    assert fault({"Minimax/a.cpp": b"int main() {}"}).startswith("No .cpp file in Minimax/ includes AIController.h")


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "after a byte order mark"])
def test_the_list_says_which_sources_count_and_in_which_order(sources, mark):
    listed = mark + b'[engine]\r\nsources = ["Minimax/parts/search.cc", "Minimax/engine.cpp"]\r\n'
    assert sources(OWN, listed) == ["Minimax/parts/search.cc", "Minimax/engine.cpp"]


@pytest.mark.parametrize(
    "listed",
    [
        b"[engine\nsources = []",
        b"",
        b"[engine]\n",
        b"engine = 3",
        b"[engine]\nsources = []",
        b'[engine]\nsources = "Minimax/engine.cpp"',
        b'[engine]\nsources = ["Minimax/engine.cpp", 3]',
        b'[engine]\nsources = ["\xd2\xfd.cpp"]',
        b"sources = " + b"[" * 100_000,
    ],
    ids=[
        "TOML syntax",
        "empty",
        "no sources",
        "engine a number",
        "no source",
        "a word",
        "a number among them",
        "not UTF-8",
        "nested without end",
    ],
)
def test_a_list_that_is_none_is_one_sentence_with_an_example(fault, listed):
    expected = 'submission.toml was not understood: expected [engine] and sources = ["Minimax/my_engine.cpp", ...].'
    assert fault(OWN, listed) == expected


@pytest.mark.parametrize(
    "name",
    [
        "Minimax/gone.cpp",
        "/etc/passwd",
        "../other/engine.cpp",
        "Minimax/../Minimax/engine.cpp",
        "Minimax/baseline.cpp",
        "Minimax/parts/search.h",
        "AlphaZero/a.py",
        "-o",
    ],
)
def test_a_listed_source_that_the_submission_lacks_is_named(fault, name):
    sentence = fault(OWN, f'[engine]\nsources = ["Minimax/engine.cpp", "{name}"]'.encode())
    assert sentence == f"submission.toml names {name}, which is no collected .cpp file of the submission."


def test_a_listed_name_with_a_line_break_stays_one_sentence(fault):
    assert "submission.toml names" in fault(OWN, b'[engine]\nsources = ["a\\nb.cpp"]')


# ------------------------------------------------------------------------------------------------- compilation

WHOLE = "int main() {}\n"
BROKEN = {
    "a syntax error": (
        {"Minimax/a.cpp": "int main() { int x = ; }\n"},
        "Minimax/a.cpp:1:22: error: expected primary-expression",
    ),
    "a missing header": ({"Minimax/a.cpp": '#include "gone.h"\n'}, "Minimax/a.cpp:1:10: fatal error: gone.h: No such file"),
    "a missing definition": ({"Minimax/a.cpp": "void init();\nint main() { init(); }\n"}, "undefined reference to `init()'"),
    "two mains": ({"Minimax/a.cpp": WHOLE, "Minimax/b.cpp": WHOLE}, "multiple definition of `main'"),
}


@pytest.fixture
def build(tmp_path, assignment):
    """Compiles sources given as text: what the compiler said, and the binary's path."""

    def run(files, **changes):
        workspace = tmp_path / "workspace"
        for name, text in files.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(text)
        binary = tmp_path / "made" / "engine"
        said = build_engine(workspace, list(files), binary, dataclasses.replace(assignment, **changes), find_sandbox())
        return said, binary

    return run


def test_a_warning_is_no_error_and_is_returned(build):
    said, binary = build({"Minimax/a.cpp": "#warning careful\n" + WHOLE})
    assert "careful" in said and os.access(binary, os.X_OK)


@pytest.mark.parametrize("kind", BROKEN)
def test_what_does_not_compile_is_told_by_its_first_error(build, tmp_path, kind):
    files, error = BROKEN[kind]
    with pytest.raises(StudentFault) as caught:
        build(files)
    sentence = str(caught.value)
    assert sentence.startswith("The engine does not compile: ") and error in sentence and "\n" not in sentence
    assert not (tmp_path / "made").exists()


def test_a_compilation_without_end_is_stopped_at_its_limit(build):
    with pytest.raises(StudentFault, match=r"^The engine does not compile: the compiler took longer than 1 s\.$"):
        build({"Minimax/a.cpp": WHOLE}, compile_command=("sh", "-c", "sleep 60"), compile_limit_s=1.0)


def test_a_machine_without_the_compiler_is_told_what_to_install(assignment):
    with pytest.raises(UsageError, match=r"expected the C\+\+ compiler no-such-g\+\+ on PATH; install it first"):
        require_compiler(dataclasses.replace(assignment, compile_command=("no-such-g++",)))


def test_an_opponent_is_built_anew_when_its_source_is_newer_and_a_broken_one_is_nobodys_loss(tmp_path, assignment):
    source, header = tmp_path / "Minimax/foe.cpp", tmp_path / "Minimax/AIController.h"
    source.parent.mkdir()
    header.write_text("")
    source.write_text(WHOLE)
    own = dataclasses.replace(assignment, opponents={"foe": ("Minimax/foe.cpp",)})
    binary = build_opponent("foe", own, tmp_path)
    made = binary.stat().st_mtime_ns
    assert build_opponent("foe", own, tmp_path).stat().st_mtime_ns == made
    source.write_text("int main( {}\n")
    os.utime(source, ns=(made + 10**9, made + 10**9))
    with pytest.raises(CouldNotGrade, match=r"the opponent foe does not compile: .*foe\.cpp:1:\d+: error"):
        build_opponent("foe", own, tmp_path)
