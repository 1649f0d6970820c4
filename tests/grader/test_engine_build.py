"""How an engine is compiled, and the sentence for one that does not compile."""

import dataclasses
import errno
import os
import platform
import sys
import tempfile
import time
from pathlib import PurePosixPath

import pytest

from arena.engine.stopwatch import Allowance
from arena.engine.withheld import has_run_delays
from common.errors import UsageError
from grader.assignment import ROOT
from grader.confinement.sandbox import LEVELS, find_sandbox, try_level
from grader.errors import CouldNotGrade, StudentFault
from grader.pipeline import engine_build
from grader.pipeline.engine_build import build_engine, build_submitted, require_compiler
from grader.pipeline.likeness import SOURCES
from grader.pipeline.submission import Submission

WHOLE = "int main() {}\n"
# What the header declares and calls.
ENGINE = (
    "#include <string>\n#include <utility>\nextern std::string ai_name;\nvoid init();\n"
    "std::pair<int, int> action(std::pair<int, int> loc);\n"
    "int main() { init(); return action({0, 0}).first + static_cast<int>(ai_name.size()); }\n"
)
DEFINED = 'std::string ai_name = "mine";\nvoid init() {}\nstd::pair<int, int> action(std::pair<int, int> loc) { return loc; }\n'
ON_X86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="it is about the instructions of x86-64")
BROKEN = {
    "a syntax error": (
        {"Minimax/a.cpp": "int main() { int x = ; }\n"},
        "Minimax/a.cpp:1:22: error: expected primary-expression",
    ),
    "a missing header": ({"Minimax/a.cpp": '#include "gone.h"\n'}, "Minimax/a.cpp:1:10: fatal error: gone.h: No such file"),
    "a missing definition": ({"Minimax/a.cpp": "void init();\nint main() { init(); }\n"}, "undefined reference to `init()'"),
    "an engine without init": (
        {"Minimax/a.cpp": ENGINE + DEFINED.replace("init()", "init(int)")},
        "undefined reference to `init()'; no source defines init() exactly as the header declares it, outside any namespace",
    ),
    "an engine whose action takes two numbers": (
        {"Minimax/a.cpp": ENGINE + DEFINED.replace("std::pair<int, int> loc) { return loc;", "int x, int y) { return {x, y};")},
        "no source defines action(std::pair<int, int>) exactly as the header declares it",
    ),
    "a function defined in a header": (
        {"Minimax/a.cpp": "int twice() { return 2; }\n" + WHOLE, "Minimax/b.cpp": "int twice() { return 2; }\n"},
        "does not compile: b.cpp:(.text+0x0): multiple definition of `twice()'; a.cpp:(.text+0x0): first defined here",
    ),
    "an instruction of no machine": (
        {"Minimax/a.cpp": 'int main() {\n  asm("frobnicate %eax");\n}\n'},
        "the assembler rejects the inline assembly at Minimax/a.cpp:2: no such instruction: `frobnicate %eax'",
    ),
    "assembly that includes a file": (
        {"Minimax/a.cpp": 'asm(".incbin \\"/nowhere\\"");\n' + WHOLE},
        "the assembler rejects the inline assembly: file not found: /nowhere",
    ),
    "static data of more than 2 GiB": (
        {"Minimax/a.cpp": "#include <iostream>\nstatic volatile char a[3L << 30];\nint main() { std::cout << a[3L << 29]; }\n"},
        "the linker cannot reach all of its static data, which take 2 GiB or more",
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
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=ON_X86) if kind == "an instruction of no machine" else kind for kind in BROKEN]
)
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


HIDDEN_MAIN = "#define PROGRAM(name) int name() { return 0; }\nPROGRAM(main)\n"


def test_a_program_whose_main_a_macro_makes_does_not_take_the_engine_s_place(submitted):
    compiled = submitted({**PARTS, "Minimax/try.cpp": HIDDEN_MAIN})
    assert (compiled.sources, compiled.left_out) == (["Minimax/board.cxx", "Minimax/engine.cpp"], ["Minimax/try.cpp"])
    words = r"One of the sources \(.*Minimax/try\.cpp\) has a main function that replaces that of AIController\.h, so"
    with pytest.raises(CouldNotGrade, match=words):
        submitted({**PARTS, "Minimax/try.cpp": '#include "board.h"\n' + HIDDEN_MAIN})


OWN_MAIN = "#define main unused\n" + WHOLE_ENGINE.replace("<time.h>", "<time.h>\n#undef main") + "int main() {}\n"


def test_an_engine_of_several_sources_may_have_a_main_of_its_own(submitted):
    assert submitted({**PARTS, "Minimax/engine.cpp": OWN_MAIN}).sources == ["Minimax/board.cxx", "Minimax/engine.cpp"]


def test_an_engine_with_a_main_of_its_own_beside_a_draft_is_named_as_not_compiled(submitted):
    compiled = submitted({**PARTS, "Minimax/finished.cpp": OWN_MAIN, "Minimax/test.cpp": "int main() {}\n"})
    assert compiled.sources == ["Minimax/board.cxx", "Minimax/engine.cpp"]
    assert compiled.named_programs == ["Minimax/finished.cpp"]
    assert submitted(PARTS).named_programs == []


def test_an_engine_that_does_not_compile_without_a_draft_either_is_told_the_first_reason(submitted):
    broken = {"Minimax/a_draft.cpp": "#error A draft.\n", **PARTS, "Minimax/engine.cpp": WHOLE_ENGINE + "int odd = ;\n"}
    with pytest.raises(StudentFault, match=r"a_draft\.cpp:1:2: error: #error A draft"):
        submitted(broken)


def test_a_source_of_a_later_standard_is_told_which_one_counts(build):
    files = {"Minimax/a.cpp": "#include <concepts>\ntemplate <std::integral T> T same(T a) { return a; }\n" + WHOLE}
    words = r"^The engine does not compile as C\+\+17, the standard of this course, but does with a later one: .*error"
    with pytest.raises(StudentFault, match=words):
        build(files)


@ON_X86
def test_an_error_that_a_syntax_check_does_not_see_is_not_blamed_on_the_standard(build):
    wide = "#include <immintrin.h>\nint f(__m256i a) { return _mm256_extract_epi32(_mm256_add_epi32(a, a), 0); }\n"
    with pytest.raises(StudentFault, match=r"^The engine does not compile: .*error: inlining failed"):
        build({"Minimax/a.cpp": wide + WHOLE})


def test_a_table_of_millions_of_entries_with_initial_values_compiles(build):
    table = "struct Entry { unsigned long key = 0; int value = 0; char depth = -1; };\nstatic Entry table[1600000];\n"
    _, binary = build({"Minimax/a.cpp": table + "int main(int many, char **) { return table[many].value; }\n"})
    assert os.access(binary, os.X_OK)


def test_a_program_larger_than_the_memory_of_an_engine_is_refused_and_not_kept(build, assignment, tmp_path):
    """A few lines of assembly are enough for a program of gigabytes, which would stay on the grader's disk."""
    filled = 'asm(".data\\n.fill 100000000, 1, 1");\n' + WHOLE
    limits = dataclasses.replace(assignment.limits, engine_memory_mib=64)
    with pytest.raises(StudentFault, match="The engine is a program of 95 MiB, more than the 64 MiB"):
        build({"Minimax/a.cpp": filled}, limits=limits)
    assert not (tmp_path / "made").exists()


@pytest.mark.machine
def test_a_compiler_whose_files_fill_the_disk_is_stopped(build, tmp_path, monkeypatch):
    """Each object file is below the limit on file size, and all of them stay until the link."""
    monkeypatch.setattr(engine_build, "COMPILER_ROOM_MIB", 64)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    filled = 'asm(".section .fill,\\"a\\",@progbits\\n.fill 50000000,1,1\\n.text");\n'
    sources = {f"Minimax/{name}.cpp": filled + (WHOLE if name == "f00" else "") for name in map("f{:02}".format, range(20))}
    with pytest.raises(StudentFault, match=r"does not compile: the compiler's files take more than 64 MiB\.$"):
        build(sources)
    assert [path.name for path in tmp_path.iterdir()] == ["workspace"]


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


@pytest.mark.parametrize(
    "said",
    [
        "Minimax/a.cpp:4:85: fatal error: error writing to /tmp/x/a.s: No space left on device",
        "/tmp/x/a.s: Fatal error: /tmp/x/a.o: No space left on device",
        "/usr/bin/ld: final link failed: No space left on device",
    ],
)
def test_a_compiler_on_a_full_disk_is_nobodys_fault(build, said):
    with pytest.raises(CouldNotGrade, match=r"^the compiler had no room .* No space left on device\): make room in /"):
        build({"Minimax/a.cpp": WHOLE}, compile_command=("sh", "-c", f"echo '{said}' >&2; exit 1"))


def test_an_engine_that_finds_no_room_on_the_disk_leaves_no_part_of_itself(build, tmp_path, monkeypatch):
    """The ladder of a class takes a program that is there for a whole one."""

    def copy(source, target, **_):
        target.write_bytes(source.read_bytes()[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(engine_build.shutil, "copyfile", copy)
    with pytest.raises(OSError, match="No space left"):
        build({"Minimax/a.cpp": WHOLE})
    assert list((tmp_path / "made").iterdir()) == []


def test_a_source_that_speaks_of_a_full_disk_is_still_told_by_its_first_error(build):
    with pytest.raises(StudentFault, match="#error fatal error: No space left on device"):
        build({"Minimax/a.cpp": "#error fatal error: No space left on device\n"})


@pytest.mark.parametrize(
    ("name", "error"),
    [("Cannot create temporary file in /x", "x"), ("a: fatal error: b", ": No space left on device")],
)
def test_a_source_that_takes_the_name_of_a_fault_of_the_machine_does_not_compile(build, name, error):
    with pytest.raises(StudentFault, match=r"^The engine does not compile: "):
        build({"Minimax/a.cpp": f'#line 1 "{name}"\n#error {error}\n'})


def test_an_engine_that_finds_room_at_the_second_try_compiles(build):
    """Another program had filled the disk for a moment."""
    compiler = """
import os, sys
tried = os.environ["TMPDIR"] + "/tried"
if not os.path.exists(tried):
    open(tried, "w").close()
    sys.exit("/usr/bin/ld: final link failed: No space left on device")
with open(sys.argv[-1], "w") as made: made.write("an engine")
"""
    _, binary = build({"Minimax/a.cpp": WHOLE}, compile_command=(sys.executable, "-I", "-S", "-c", compiler))
    assert binary.read_text() == "an engine"


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
