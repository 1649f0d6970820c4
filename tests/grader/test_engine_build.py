"""Which sources are a submission's engine, and the sentence for those that make none."""

import dataclasses
import os
import sys
import tempfile
import time
import tomllib
from pathlib import PurePosixPath

import pytest

from arena.engine.stopwatch import Allowance
from arena.engine.withheld import has_run_delays
from common.errors import UsageError
from grader.assignment import ROOT
from grader.confinement.sandbox import LEVELS, find_sandbox, try_level
from grader.errors import CouldNotGrade, StudentFault
from grader.pipeline import engine_build
from grader.pipeline.engine_build import build_engine, build_opponent, build_submitted, engine_sources, require_compiler
from grader.pipeline.likeness import SOURCES
from grader.pipeline.submission import Submission

ENGINE = b'#include "AIController.h"\n'
OWN = {"Minimax/engine.cpp": ENGINE, "Minimax/parts/search.cc": b"", "Minimax/parts/search.h": b"", "AlphaZero/a.py": b""}


@pytest.fixture
def sources(assignment):
    """The engine's sources among the given files, with `listed` as submission.toml."""

    def find(files, listed=None):
        files = files if listed is None else {**files, "submission.toml": listed}
        return engine_sources(Submission("work", files, (), (), ()), assignment)

    return find


def sentence_of(reason, sources):
    """The one sentence in place of sources, for this reason."""

    def find(files, listed=None):
        with pytest.raises(reason) as caught:
            sources(files, listed)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return find


@pytest.fixture
def fault(sources):
    """The sentence that blames the student."""
    return sentence_of(StudentFault, sources)


@pytest.fixture
def doubt(sources):
    """The sentence that leaves the verdict to a person."""
    return sentence_of(CouldNotGrade, sources)


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
        b'#inc\\\nlude "AIController.h"',
        b'%:include "AIController.h"',
    ],
    ids=["plain", "spaced", "from a subfolder", "after a byte order mark", "below a GBK comment", "on two lines", "digraph"],
)
def test_an_engine_is_known_by_its_include_however_that_is_written(sources, include):
    assert sources({"Minimax/engine.cpp": include}) == ["Minimax/engine.cpp"]


def test_an_engine_may_include_the_header_through_one_of_its_own(sources):
    files = {"Minimax/engine.cpp": b'#include "engine.h"\n', "Minimax/engine.h": ENGINE}
    assert sources(files) == ["Minimax/engine.cpp"]


def test_headers_that_include_each_other_end(doubt):
    ring = {"Minimax/a.cpp": b'#include "b.h"', "Minimax/b.h": b'#include "c.h"', "Minimax/c.h": b'#include "b.h"'}
    assert doubt(ring).startswith("No source in Minimax/ includes")


def example_in(sentence):
    """The sources that the sentence's example names, read as TOML as it is typed."""
    return tomllib.loads(sentence[sentence.index("engine.sources") :])["engine"]["sources"]


def test_two_engines_side_by_side_are_for_a_person_and_both_named_with_what_to_write(sources):
    two = {**OWN, "Minimax/old/engine_v1.cpp": ENGINE}
    with pytest.raises(CouldNotGrade) as caught:
        sources(two)
    sentence = str(caught.value)
    assert sentence.startswith("There is more than one engine (Minimax/engine.cpp, Minimax/old/engine_v1.cpp): write a file")
    assert "\n" not in sentence
    assert sources(two, sentence[sentence.index("engine.sources") :].encode()) == example_in(sentence)
    assert sources(two, b'[engine]\nsources = ["Minimax/old/engine_v1.cpp"]') == ["Minimax/old/engine_v1.cpp"]


def test_the_example_names_all_sources_that_compile_together_for_one_of_the_engines(sources):
    files = {
        "Minimax/a/engine.cpp": ENGINE + b'#include "search.h"\nstd::string ai_name = "a";',
        "Minimax/a/search.cpp": b'#include "search.h"\n#include "../board.h"',
        "Minimax/a/search.h": b"",
        "Minimax/board.cpp": b'#include "board.h"',
        "Minimax/board.h": b"",
        "Minimax/b/engine.cpp": ENGINE + b'std::string ai_name = "b";',
        "Minimax/b/other.cpp": b'#include "other.h"',
        "Minimax/b/other.h": b"",
        "Minimax/a/test.cpp": b'#include "search.h"\nint main() { return 0; }',
    }
    with pytest.raises(CouldNotGrade) as caught:
        sources(files)
    assert example_in(str(caught.value)) == ["Minimax/a/engine.cpp", "Minimax/a/search.cpp", "Minimax/board.cpp"]


def test_an_example_that_is_too_long_for_the_message_names_the_engine_and_counts_the_rest(sources):
    parts = {f"Minimax/a_part_{number:02}_of_the_first_engine.cpp": b'#include "own.h"' for number in range(12)}
    first = ENGINE + b'#include "own.h"\nstd::string ai_name = "a";'
    files = {**parts, "Minimax/own.h": b"", "Minimax/engine.cpp": first}
    files["Minimax/old_engine.cpp"] = ENGINE + b'std::string ai_name = "b";'
    with pytest.raises(CouldNotGrade) as caught:
        sources(files)
    assert str(caught.value).endswith('engine.sources = ["Minimax/engine.cpp"]  # and its 12 other sources')
    assert example_in(str(caught.value)) == ["Minimax/engine.cpp"]


def test_an_example_with_odd_names_is_still_toml(sources):
    files = {'Minimax/a"\n.cpp': ENGINE, "Minimax/五子棋.cpp": ENGINE}
    with pytest.raises(CouldNotGrade) as caught:
        sources(files)
    assert example_in(str(caught.value)) == ['Minimax/a"\n.cpp']


def test_sources_that_all_include_the_header_are_one_engine_if_one_of_them_names_it(sources):
    shared = {"Minimax/all.h": ENGINE + b"extern std::string ai_name;", "Minimax/search.cpp": b'#include "all.h"'}
    files = {**shared, "Minimax/engine.cpp": b'#include "all.h"\nstd::string ai_name = "mine";'}
    assert sources(files) == ["Minimax/search.cpp", "Minimax/engine.cpp"]


def test_a_source_that_another_one_includes_is_not_compiled_twice(sources):
    files = {"Minimax/engine.cpp": ENGINE + b'#include "search.cpp"', "Minimax/search.cpp": b'#include "AIController.h"'}
    assert sources(files) == ["Minimax/engine.cpp"]


def test_a_program_beside_the_engine_is_left_out(sources):
    program = b'#include "search.h"\n// int main() is below\nint main(int argc, char **argv) { return argc; }'
    assert sources({**OWN, "Minimax/try_search.cpp": program}) == sources(OWN)
    assert sources({**OWN, "Minimax/notes.cpp": b"/* int main() {} */"}) == [*sources(OWN), "Minimax/notes.cpp"]


PROGRAM = b"int main() { return 0; }\n"
SEARCH = b'#include "search.h"\n'
WITHOUT_ITS_MAIN = b"#define main unused\n" + ENGINE + b"#undef main\n"


@pytest.mark.parametrize(
    "program",
    [
        b"int\nmain()\n{\n}",
        b"#include <iostream>\n#ifndef TRY_CPP\n#define TRY_CPP\n" + PROGRAM + b"#endif",
        b"#ifdef _WIN32\nint wmain() {}\n#else\n" + PROGRAM + b"#endif",
        b'#include "search.cpp"\n' + PROGRAM,
        b'#include "cases.h"\n' + PROGRAM,
        WITHOUT_ITS_MAIN + PROGRAM,
        WITHOUT_ITS_MAIN + b'#include "engine.cpp"\n' + PROGRAM,
    ],
    ids=[
        "main on two lines",
        "in an include guard",
        "for two systems",
        "with a source of the engine",
        "with a source through a header",
        "without the main of AIController.h",
        "with the whole engine",
    ],
)
def test_a_program_is_left_out_and_the_sources_that_it_includes_are_kept(sources, program):
    files = {
        "Minimax/cases.h": b'#include "search.cpp"',
        "Minimax/engine.cpp": ENGINE + SEARCH + b"std::string ai_name;",
        "Minimax/search.cpp": SEARCH,
        "Minimax/search.h": b"",
        "Minimax/try.cpp": program,
    }
    assert sources(files) == ["Minimax/engine.cpp", "Minimax/search.cpp"]


@pytest.mark.parametrize(
    "helper",
    [
        SEARCH + b"#ifdef TEST\n" + PROGRAM + b"#endif",
        SEARCH + b"#if defined(TEST) || defined(BENCH)\n" + PROGRAM + b"#endif",
        b"#ifndef SEARCH_CPP\n#define SEARCH_CPP\n#define TEST 0\n#if TEST\n" + PROGRAM + b"#endif\n#endif",
        b"#if 0\n" + PROGRAM + b"#endif",
        SEARCH + b"void greet(const std::string &ai_name);\nvoid part(std::string ai_name, int x);",
    ],
    ids=["under a macro", "under one of two", "under a macro that is 0", "switched off", "with a parameter called ai_name"],
)
def test_a_helper_with_a_main_that_is_not_compiled_or_a_word_of_an_engine_is_kept(sources, helper):
    files = {"Minimax/engine.cpp": ENGINE + b'std::string ai_name = "mine";', "Minimax/helper.cpp": helper}
    assert sources(files) == list(files)


def test_a_source_whose_include_is_switched_off_is_compiled(sources):
    engine = ENGINE + b'#if 0\n#include "search.cpp"\n#else\n#include "parts.cpp"\n#endif'
    files = {"Minimax/engine.cpp": engine, "Minimax/parts.cpp": b"", "Minimax/search.cpp": b""}
    assert sources(files) == ["Minimax/engine.cpp", "Minimax/search.cpp"]


def test_an_engine_in_a_guard_or_with_a_main_of_its_own_is_found(sources):
    guarded = b"#ifndef ENGINE_CPP\n#define ENGINE_CPP\n" + ENGINE + b"#endif"
    assert sources({"Minimax/engine.cpp": guarded}) == ["Minimax/engine.cpp"]
    files = {"Minimax/engine.cpp": WITHOUT_ITS_MAIN + b'#include "search.cpp"\n' + PROGRAM, "Minimax/search.cpp": b""}
    assert sources(files) == ["Minimax/engine.cpp"]


def test_many_open_conditions_are_read_in_no_time(sources):
    assert sources({**OWN, "Minimax/odd.cpp": b"#if 1\n" * 300_000})[-1] == "Minimax/odd.cpp"


def test_a_text_that_looks_like_comments_without_end_is_read_in_no_time(sources):
    assert sources({**OWN, "Minimax/odd.cpp": b"/*" * 500_000})[-1] == "Minimax/odd.cpp"


def test_a_submission_without_a_source_of_its_own_has_no_engine(fault):
    assert fault({"AlphaZero/a.py": b"", "Minimax/engine.h": ENGINE}).startswith(
        "There is no engine: expected your own .cpp file"
    )


@pytest.mark.parametrize(
    "files",
    [{"Minimax/helper.cpp": b""}, {"Minimax/helper.cpp": b"", "Minimax/own.cpp": PROGRAM}],
    ids=["a helper of an engine in a handed-out file", "an engine with a main of its own"],
)
def test_sources_without_the_header_are_for_a_person_with_what_to_write(sources, doubt, files):
    sentence = doubt(files)
    assert sentence.startswith("No source in Minimax/ includes AIController.h, so nothing says which one is the engine.")
    assert sources(files, sentence[sentence.index("engine.sources") :].encode()) == list(files)


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
        b"[engine] sources = ['Minimax/engine.cpp']",
        b"\n".join(b"a.b%d = 1" % i for i in range(4000)),
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
        "table and list on one line",
        "very long",
    ],
)
def test_a_list_that_is_none_is_one_sentence_with_an_example(fault, listed):
    sentence = fault(OWN, listed)
    assert sentence.startswith("submission.toml cannot be read: expected [engine] on one line")
    assert example_in(sentence) == ["Minimax/my_engine.cpp", "Minimax/search.cpp"]


@pytest.mark.parametrize(
    "name", ["minimax/engine.cpp", "./Minimax/engine.cpp", r"Minimax\\engine.cpp", r".\\MINIMAX\\engine.cpp"]
)
def test_a_listed_source_is_found_however_its_folder_is_written(sources, name):
    assert sources(OWN, f'[engine]\nsources = ["{name}", "minimax/parts/search.cc"]'.encode()) == [
        "Minimax/engine.cpp",
        "Minimax/parts/search.cc",
    ]


@pytest.mark.parametrize(
    "name",
    [
        "Minimax/gone.cpp",
        "minimax/Engine.cpp",
        "./../Minimax/engine.cpp",
        "/etc/passwd",
        "../other/engine.cpp",
        "Minimax/../Minimax/engine.cpp",
        "Minimax/baseline.cpp",
        "Minimax/parts/missing.h",
        "-o",
    ],
)
def test_a_listed_source_that_the_submission_lacks_is_named(fault, name):
    sentence = fault(OWN, f'[engine]\nsources = ["Minimax/engine.cpp", "{name}"]'.encode())
    assert sentence == f"submission.toml names {name}, but the submission has no such file that is collected."


@pytest.mark.parametrize("name", ["Minimax/search.h", "AlphaZero/mcts_pure.py"])
def test_a_listed_file_that_is_not_compiled_is_named_as_such(fault, name):
    files = {**OWN, name: b"", "Minimax/engine.cpp": ENGINE}
    sentence = fault(files, f'[engine]\nsources = ["Minimax/engine.cpp", "{name}"]'.encode())
    assert sentence.startswith(f"submission.toml names {name}, but may list only the files that are compiled (.cpp, .cc")


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
    "assembly of no machine": (
        {"Minimax/a.cpp": 'int main() {\n  asm("frobnicate %eax");\n}\n'},
        "the assembler rejects the inline assembly at Minimax/a.cpp:2: no such instruction: `frobnicate %eax'",
    ),
    "assembly that includes a file": (
        {"Minimax/a.cpp": 'asm(".incbin \\"/nowhere\\"");\n' + WHOLE},
        "the assembler rejects the inline assembly: file not found: /nowhere",
    ),
    "two mains": ({"Minimax/a.cpp": WHOLE, "Minimax/b.cpp": WHOLE}, "multiple definition of `main'"),
}


@pytest.fixture
def build(tmp_path, assignment):
    """Compiles sources given as text: what the compiler said, and the binary's path."""

    def run(files, sandbox=None, **changes):
        workspace = tmp_path / "workspace"
        for name, text in files.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(text)
        binary = tmp_path / "made" / "engine"
        changed = dataclasses.replace(assignment, **changes)
        return build_engine(workspace, list(files), binary, changed, sandbox or find_sandbox()), binary

    return run


def test_a_warning_is_no_error_and_is_returned(build):
    said, binary = build({"Minimax/a.cpp": "#warning careful\n" + WHOLE})
    assert "careful" in said and os.access(binary, os.X_OK)


@pytest.mark.machine
@pytest.mark.parametrize("kind", BROKEN)
def test_what_does_not_compile_is_told_by_its_first_error(build, tmp_path, kind):
    files, error = BROKEN[kind]
    with pytest.raises(StudentFault) as caught:
        build(files)
    sentence = str(caught.value)
    assert sentence.startswith("The engine does not compile: ") and error in sentence and "\n" not in sentence
    assert not (tmp_path / "made").exists()


def test_every_collected_source_is_compiled_and_every_collected_file_is_compared(assignment):
    def suffixes(patterns):
        return {PurePosixPath(pattern).suffix for pattern in patterns}

    assert suffixes(assignment.parts["Minimax"]) == set(engine_build.SOURCE_SUFFIXES)
    assert suffixes(pattern for pattern in assignment.collected if pattern.startswith("Minimax/")) == {*SOURCES} - {".py"}


@pytest.fixture
def submitted(tmp_path, assignment):
    """Compiles a submission of files given as text, below the header of the framework."""

    def run(files):
        workspace = tmp_path / "workspace"
        for name, text in {**files, "Minimax/AIController.h": HEADER}.items():
            (workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (workspace / name).write_text(text)
        work = Submission("work", {name: text.encode() for name, text in files.items()}, (), (), ())
        return build_submitted(workspace, work, tmp_path / "made" / "engine", assignment, find_sandbox())

    return run


HEADER = (ROOT / "Minimax/AIController.h").read_text()
WHOLE_ENGINE = """#include "AIController.h"
#include "board.h"
#include <time.h>
std::string ai_name;
int board[225], ai_controller;
void init() { board[0] = int(time(nullptr)) + size(); }
std::pair<int, int> action(std::pair<int, int>) { return {7, 7}; }
"""
PARTS = {
    "Minimax/board.cxx": '#include "board.h"\nint size() { return 15; }\n',
    "Minimax/board.h": "int size();\n",
    "Minimax/engine.cpp": WHOLE_ENGINE,
    "Minimax/time.h": "#error This is a clock of the student's own.\n",
}


def test_a_draft_that_keeps_the_engine_from_compiling_is_left_out_and_named(submitted):
    compiled = submitted({**PARTS, "Minimax/draft.cpp": "int board[225];\n"})
    assert (compiled.sources, compiled.left_out) == (["Minimax/board.cxx", "Minimax/engine.cpp"], ["Minimax/draft.cpp"])


def test_an_engine_that_does_not_compile_without_a_draft_either_is_told_the_first_reason(submitted):
    broken = {"Minimax/a_draft.cpp": "#error A draft.\n", **PARTS, "Minimax/engine.cpp": WHOLE_ENGINE + "int odd = ;\n"}
    with pytest.raises(StudentFault, match=r"a_draft\.cpp:1:2: error: #error A draft"):
        submitted(broken)


def test_a_source_of_a_later_standard_is_told_which_one_counts(build):
    files = {"Minimax/a.cpp": "#include <concepts>\ntemplate <std::integral T> T same(T a) { return a; }\n" + WHOLE}
    words = r"^The engine does not compile as C\+\+17, the standard of this course, but does with a later one: .*error"
    with pytest.raises(StudentFault, match=words):
        build(files)


def test_an_error_that_a_syntax_check_does_not_see_is_not_blamed_on_the_standard(build):
    wide = "#include <immintrin.h>\nint f(__m256i a) { return _mm256_extract_epi32(_mm256_add_epi32(a, a), 0); }\n"
    with pytest.raises(StudentFault, match=r"^The engine does not compile: .*error: inlining failed"):
        build({"Minimax/a.cpp": wide + WHOLE})


def test_a_table_of_millions_of_entries_with_initial_values_compiles(build):
    table = "struct Entry { unsigned long key = 0; int value = 0; char depth = -1; };\nstatic Entry table[1600000];\n"
    _, binary = build({"Minimax/a.cpp": table + "int main(int many, char **) { return table[many].value; }\n"})
    assert os.access(binary, os.X_OK)


@pytest.mark.machine
@pytest.mark.parametrize("level", LEVELS)
def test_an_engine_of_several_sources_compiles_below_a_folder_that_is_closed_to_others(build, tmp_path, monkeypatch, level):
    """The compiler takes /tmp, which Landlock closes, if access(2) says that it cannot use TMPDIR."""
    if isinstance(sandbox := try_level(level), str):
        pytest.skip(f"{level}: {sandbox}")
    closed = tmp_path / "closed"
    (closed / "temporary").mkdir(parents=True)
    closed.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(closed / "temporary"))
    two = {"Minimax/a.cpp": "int f();\nint main() { return f(); }\n", "Minimax/b.cpp": "int f() { return 0; }\n"}
    _, binary = build(two, sandbox=sandbox)
    assert os.access(binary, os.X_OK) and list((closed / "temporary").iterdir()) == []


def test_a_compiler_without_a_place_for_temporary_files_is_nobodys_fault(build):
    says = "echo 'Cannot create temporary file in /tmp/: Permission denied' >&2; exit 1"
    with pytest.raises(
        CouldNotGrade, match=r"^the compiler could not run .* \(Cannot create .* Permission denied\): name a folder"
    ):
        build({"Minimax/a.cpp": WHOLE}, compile_command=("sh", "-c", says))


def test_a_source_that_speaks_of_temporary_files_is_still_told_by_its_first_error(build):
    with pytest.raises(StudentFault, match="#error Cannot create temporary file in here"):
        build({"Minimax/a.cpp": "#error Cannot create temporary file in here\n"})


@pytest.mark.machine
def test_a_compilation_without_end_is_stopped_at_its_limit(build):
    with pytest.raises(StudentFault, match=r"^The engine does not compile: the compiler took longer than 1 s\.$"):
        build({"Minimax/a.cpp": WHOLE}, compile_command=("sh", "-c", "sleep 60"), compile_limit_s=1.0)


@pytest.mark.skipif(not has_run_delays(), reason="this system does not count run delays")
def test_a_busy_core_makes_no_compilation_too_long(build, monkeypatch, busy_core):
    """Beside four other programs 0.5 s of CPU time take about 2.5 s, where 1.5 s of wall clock are allowed."""
    monkeypatch.setattr(engine_build, "cpu_allowance", lambda limit_s: Allowance(limit_s, 1.5, 60.0))
    compiler = """
import os, sys, time
while time.process_time() < 0.5: pass
with open(sys.argv[-1], "w") as made: made.write("an engine")
"""
    started = time.monotonic()
    _, binary = build({"Minimax/a.cpp": WHOLE}, compile_command=(sys.executable, "-I", "-S", "-c", compiler))
    assert binary.read_text() == "an engine" and time.monotonic() - started > 1.5


def test_a_machine_that_is_too_busy_to_compile_is_nobodys_fault(build, monkeypatch):
    monkeypatch.setattr(engine_build, "cpu_allowance", lambda limit_s: Allowance(limit_s, 60.0, 0.5))
    with pytest.raises(
        CouldNotGrade, match=r"^this machine was too busy to compile the engine: the compiler got 0 s of CPU time in"
    ):
        build({"Minimax/a.cpp": WHOLE}, compile_command=("sh", "-c", "sleep 60"))


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
