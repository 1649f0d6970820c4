"""Find the sources of a submission's engine and compile them in confinement."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from arena.engine.process import Descendants
from arena.engine.stopwatch import OutOfTime, Stopwatch, cpu_allowance
from common.errors import UsageError
from common.files import remove
from common.processes import kill_group
from grader.assignment import Assignment
from grader.confinement.sandbox import ProcessLimits, Sandbox
from grader.errors import CouldNotGrade, StudentFault
from grader.pipeline.includes import compiled_text, included_names, outside_braces, without_comments
from grader.pipeline.submission import Submission

SOURCE_SUFFIXES = (".cpp", ".cc", ".cxx", ".CPP")  # g++ takes these for C++
SUBMISSION_TOML = "submission.toml"
# A parameter of this name is followed by a comma or a parenthesis.
ENGINE_NAME = re.compile(r"(?:^|[;{}])(?![ \t]*extern\b)[^\n;{}]*\bstring[ \t]+ai_name\s*[=;{(]", re.MULTILINE)
MAIN_FUNCTION = re.compile(r"^[ \t]*(?:int|int32_t|auto|signed)\s+main\s*\(", re.MULTILINE)
# How nm lists a main that replaces the weak one of the header.
STRONG_MAIN = re.compile(r"^main T ", re.MULTILINE)
# The assembler's report of an error in inline assembly: FILE:LINE: Error: WHAT.
ASSEMBLER = re.compile(r"^(?P<place>\S+?:\d+): (?:Fatal error|Error): (?P<what>.+)$", re.MULTILINE)
# What the compiler says when it can use neither TMPDIR nor another folder for its temporary files.
NO_TEMPORARY_FILE = re.compile(r"^Cannot create temporary file in .*", re.MULTILINE)
# What the compiler, the assembler and the linker say when the disk of their files is full.
NO_ROOM = re.compile(r"^\S+: (?:[Ff]atal error|final link failed): (?:.*: )?No space left on device$", re.MULTILINE)
# How the linker names an object file, which the compiler made in its scratch folder.
OBJECT_FILE = re.compile(r"(?:\S+/ld: )?/\S*/cc\w+\.o:")
# What the linker says where an engine does not define what the header declares.
NOT_DEFINED = re.compile(r"undefined reference to `(?P<name>init\(\)|action\(std::pair<int, int>\)|ai_name(?:\[abi:cxx11\])?)'")
# What the linker says of an address more than 2 GiB away.
TOO_FAR = "relocation truncated to fit"
STANDARD = "-std=c++"
LATEST = f"{STANDARD}23"
COMPILER_MEMORY_MIB = 4096
# The compiler hands the assembler a text with about 46 bytes for each entry of a table that has initial values. Tables of
# millions of entries are common in engines.
COMPILER_FILE_MIB = 2048
# The compiler keeps the object files of all sources until the link. Its scratch folder is on the disk of the whole class.
COMPILER_ROOM_MIB = 4096
MAX_TOML_BYTES = 16 << 10  # tomllib takes seconds for some longer files
DIAGNOSTIC_BYTES = 64 << 10
MESSAGE_CHARACTERS = 300


def require_compiler(assignment: Assignment) -> None:
    """Raise a UsageError that names the package to install if the compiler is missing; without an engine nobody needs it."""
    if not assignment.engine_folder:
        return
    compiler = assignment.compile_command[0]
    if shutil.which(compiler) is None:
        raise UsageError(f"expected the C++ compiler {compiler} on PATH; install it first (Debian, Ubuntu: package {compiler})")


def engine_sources(submission: Submission, assignment: Assignment) -> list[str]:
    """Return the relative paths of the engine's sources in the submission, in order.

    If there is a `submission.toml` that is not empty, it lists them. Otherwise they are all sources below the engine folder,
    except those that another file of the engine includes and those that are separate programs.

    Raises:
        StudentFault: there is no source that a compiler can read, or the list names a missing file.
        CouldNotGrade: there are two engines, or no source includes the header, and nothing says which source counts.
    """
    if listed := _listed(submission):
        return _listed_sources(listed, submission, assignment)
    folder = f"{assignment.engine_folder}/"
    files = _SourceFiles(submission, assignment)
    if not files.sources:
        raise StudentFault(f"There is no engine: expected your own .cpp file in {folder}, besides the handed-out files.")
    if not files.engines and (unreadable := [path for path in files.sources if b"\0" in submission.files[path]]):
        raise StudentFault(
            f"The compiler cannot read {_names(unreadable)}: null bytes, as in a file in UTF-16. Save the source as UTF-8."
        )
    if not files.engines:
        example = _example(files.sources, files.sources[0])
        raise CouldNotGrade(
            f"No source in {folder} includes {assignment.engine_header}, so nothing says which one is the engine. An engine in "
            "a handed-out file does not count: give the file another name. If the engine has a main function of its own, write "
            f"a file {SUBMISSION_TOML} that names its sources, for example with the line {example}"
        )
    if len(files.engines) > 1:
        engine = files.engines[0]
        together = files.belonging_to(engine)
        raise CouldNotGrade(
            f"There is more than one engine ({', '.join(files.engines)[:MESSAGE_CHARACTERS]}): write a file {SUBMISSION_TOML} "
            f"that names the sources of the one that counts, for example with the line {_example(together, engine)}"
        )
    return [path for path in files.sources if path not in files.other_programs]


class OtherMain(CouldNotGrade):
    """The sources compile together, but into another program than the engine."""


class _SourceFiles:
    """The sources below the engine folder and how they include each other.

    Attributes:
        sources: files to compile; a .cpp that another file of the engine includes is not one of them.
        engines: the sources that define an engine. All sources of an engine may include the header, but only one gives the
            engine its name.
        other_programs: sources with a main function of their own, such as a test program.
        named_programs: those of them that define a name as an engine does.
        shows_main: whether a main function of its own can be seen in a source of the engine.
    """

    def __init__(self, submission: Submission, assignment: Assignment) -> None:
        self._includes: dict[str, set[str]] = {}
        self._includers: dict[str, set[str]] = {}
        with_header, with_name, with_main = set(), set(), set()
        for path, content in submission.files.items():
            text = compiled_text(without_comments(content))
            names = included_names(text)
            if any(posixpath.basename(name) == assignment.engine_header for name in names):
                with_header.add(path)
            if ENGINE_NAME.search(outside_braces(text)):
                with_name.add(path)
            if MAIN_FUNCTION.search(text):
                with_main.add(path)
            # The compiler looks beside the file, then in the engine folder.
            folders = (posixpath.dirname(path), assignment.engine_folder)
            places = {posixpath.normpath(f"{folder}/{name}") for folder in folders for name in names}
            self._includes[path] = (places & submission.files.keys()) - {path}
            for place in self._includes[path]:
                self._includers.setdefault(place, set()).add(path)
        self._with_header, self._with_name = (_reached(paths, self._includers) for paths in (with_header, with_name))
        folder = f"{assignment.engine_folder}/"
        self._below = [path for path in submission.files if path.startswith(folder) and path.endswith(SOURCE_SUFFIXES)]
        self._choose(with_main)
        if not self.engines:
            self._choose(with_main - self._with_header)
        self.named_programs = sorted(self.other_programs & with_name & self._with_header)
        self.shows_main = bool(with_main & set(self.sources) - self.other_programs)

    def _choose(self, programs: set[str]) -> None:
        """Choose the sources and the engines; `programs` are no engines, and what only they include is compiled separately."""
        including = [self._includes[path] for path in self._below if path not in programs]
        included = _reached(set().union(*including), self._includes)
        self.sources = [path for path in self._below if path not in included]
        self.other_programs = programs & set(self.sources)
        not_programs = [path for path in self.sources if path not in programs]
        having_header = [path for path in not_programs if path in self._with_header]
        named = [path for path in not_programs if path in self._with_name] if having_header else []
        self.engines = [path for path in named if path in self._with_header] or named or having_header

    def belonging_to(self, engine: str) -> list[str]:
        """Return the engine and the sources that share headers with it, directly or through a chain, and are not programs."""
        candidates = set(self.sources).difference(self.engines, self.other_programs)
        found, headers, new = set[str](), set[str](), {engine}
        while new:
            found |= new
            added = _reached(new, self._includes) - found - headers
            headers |= added
            new = candidates & _reached(added, self._includers) - found
        return sorted(found)


def _reached(start: set[str], edges: Mapping[str, set[str]]) -> set[str]:
    found, waiting = set(start), list(start)
    while waiting:
        further = edges.get(waiting.pop(), set()) - found
        found |= further
        waiting.extend(further)
    return found


def _example(sources: list[str], engine: str) -> str:
    """Return the line of submission.toml that names these sources, or only the engine and their number if it is too long."""
    line = f"engine.sources = {json.dumps(sources, ensure_ascii=False)}"
    if len(line) <= MESSAGE_CHARACTERS or len(sources) == 1:
        return line
    return f"engine.sources = {json.dumps([engine], ensure_ascii=False)}  # and its {len(sources) - 1} other sources"


def _listed(submission: Submission) -> list[str]:
    """Return the sources as submission.toml names them; none if it is empty, or if all its lines are comments."""
    content, reason = submission.files.get(SUBMISSION_TOML, b""), ""
    try:
        if len(content) > MAX_TOML_BYTES:
            raise ValueError
        # utf-8-sig: Windows editors write a byte order mark.
        table = tomllib.loads(content.decode("utf-8-sig"))
        if table in ({}, {"engine": {}}):
            return []
        sources = table["engine"]["sources"]
        if not isinstance(sources, list) or not sources or not all(isinstance(s, str) for s in sources):
            raise TypeError
        return sources
    except UnicodeDecodeError:
        reason = " (it is not saved as UTF-8)"
    except tomllib.TOMLDecodeError as error:
        reason = f" ({error})"
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise StudentFault(
        f"{SUBMISSION_TOML} cannot be read{reason}: expected [engine] on one line and sources = [...] on the next, or both in "
        'one line such as engine.sources = ["Minimax/my_engine.cpp", "Minimax/search.cpp"]'
    )


def _listed_sources(sources: list[str], submission: Submission, assignment: Assignment) -> list[str]:
    """Return the places of listed sources; raise a StudentFault if one is missing or is none."""
    places = [_place(path, assignment) for path in sources]
    if missing := [path for path, place in zip(sources, places, strict=True) if place not in submission.files]:
        raise StudentFault(f"{SUBMISSION_TOML} names {_names(missing)}, but the submission has no such file that is collected.")
    if others := [path for path in places if not path.endswith(SOURCE_SUFFIXES)]:
        raise StudentFault(
            f"{SUBMISSION_TOML} names {_names(others)}, but may list only the files that are compiled "
            f"({', '.join(SOURCE_SUFFIXES)}): leave out headers, which the sources include."
        )
    return places


def _place(listed: str, assignment: Assignment) -> str:
    """Return the place in the submission of a listed file; as in an archive, the case of the first folder does not matter."""
    first, *rest = PurePosixPath(listed.replace("\\", "/")).parts or ("",)
    return "/".join([next((part for part in assignment.parts if part.casefold() == first.casefold()), first), *rest])


def _names(paths: list[str]) -> str:
    return ", ".join(path if path.isprintable() else repr(path) for path in paths)[:MESSAGE_CHARACTERS]


@dataclass(frozen=True)
class CompiledEngine:
    """What was compiled into an engine.

    Attributes:
        warnings: those of the compiler; empty if there are none.
        left_out: sources without which the others compile, such as an old draft.
        named_programs: sources that are left out because they have a main of their own, but that have an engine's name.
    """

    sources: list[str]
    warnings: str
    left_out: list[str]
    named_programs: list[str]


def build_submitted(
    workspace: Path, submission: Submission, binary: Path, assignment: Assignment, sandbox: Sandbox
) -> CompiledEngine:
    """Compile the engine of a submission into `binary`.

    If its sources do not compile together, or into another program than the engine, those that share headers with the engine
    are tried once more without the others.

    Raises:
        StudentFault: there is no engine, or it does not compile either way; the message gives the first reason.
        CouldNotGrade: see `engine_sources` and `build_engine`.
    """
    sources = engine_sources(submission, assignment)
    files = None if _listed(submission) else _SourceFiles(submission, assignment)
    programs = files.named_programs if files else []

    def compiled(sources: list[str], left_out: list[str]) -> CompiledEngine:
        may_hide_main = files is not None and len(sources) > 1 and not files.shows_main
        said = build_engine(workspace, sources, binary, assignment, sandbox, main_of_header=may_hide_main)
        return CompiledEngine(sources, said, left_out, programs)

    try:
        return compiled(sources, [])
    except (StudentFault, OtherMain) as reason:
        closest = files.belonging_to(files.engines[0]) if files else sources
        left_out = [path for path in sources if path not in closest]
        if not left_out:
            raise
        try:
            return compiled([path for path in sources if path in closest], left_out)
        except (StudentFault, OtherMain):
            raise reason from None


def build_engine(
    workspace: Path,
    sources: list[str],
    binary: Path,
    assignment: Assignment,
    sandbox: Sandbox,
    *,
    main_of_header: bool = False,
) -> str:
    """Compile `sources` of the workspace into `binary`, confined like everything else in a submission.

    Args:
        main_of_header: whether the program's main must be the one of the header. A source that has another one, made by a macro
            perhaps, replaces it without an error.

    Returns:
        The compiler's warnings; empty if there are none.

    Raises:
        StudentFault: the engine does not compile, or takes too long or too much room; the message quotes the first error.
        CouldNotGrade: the machine was too busy to tell whether compiling takes too long, or the compiler found no place or no
            room for its temporary files. OtherMain: see `main_of_header`.
    """
    scratch = Path(tempfile.mkdtemp(prefix="grader-build-")).resolve()
    compile_s = int(assignment.compile_limit_s)
    limits = ProcessLimits(COMPILER_MEMORY_MIB, compile_s, processes=64, file_size_mib=COMPILER_FILE_MIB, children=True)
    try:
        environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(scratch), "LANG": "C.UTF-8", "HOME": str(scratch)}

        def compiled(command: Sequence[str]) -> str:
            wrapped = sandbox.wrap(command, limits=limits, read_only=[workspace], scratch=scratch, keeps=True, cwd=workspace)
            return _run(wrapped, environment, assignment.compile_limit_s, scratch)

        def happens_to_us(message: re.Pattern[str]) -> bool:
            """Return whether a program of ours gets the same message, since a source can give itself any name (#line)."""
            own = scratch / "own.cpp"
            own.write_text("int main() {}\n", encoding="ascii")
            said = compiled([*assignment.compile_command, str(own), "-o", str(scratch / "own")])
            return bool(message.search(said))

        built = scratch / "engine"
        command = [*assignment.compile_command, *sources]
        diagnostics = compiled([*command, "-o", str(built)])
        if not built.is_file() and NO_ROOM.search(diagnostics):
            diagnostics = compiled([*command, "-o", str(built)])  # other programs may have filled the disk for a moment
        if not built.is_file() or built.is_symlink():
            if (refused := NO_TEMPORARY_FILE.search(diagnostics)) and happens_to_us(NO_TEMPORARY_FILE):
                raise CouldNotGrade(
                    f"the compiler could not run in its confinement on this machine ({refused[0][:MESSAGE_CHARACTERS]}): "
                    "name a folder for the results (--out) that every user can reach"
                )
            has_room = shutil.disk_usage(scratch).free >> 20 > COMPILER_ROOM_MIB
            if (full := NO_ROOM.search(diagnostics)) and (not has_room or happens_to_us(NO_ROOM)):
                raise CouldNotGrade(
                    f"the compiler had no room for its files on this machine ({full[0][:MESSAGE_CHARACTERS]}): make room in "
                    f"{tempfile.gettempdir()}, and grade it again"
                )
            standard = "" if not _has_error(diagnostics) else _standard_that_is_too_old(command, compiled)
            reason = f" as {standard}, the standard of this course, but does with a later one" if standard else ""
            raise StudentFault(f"The engine does not compile{reason}: {first_error(diagnostics)}")
        mib, most_mib = built.stat().st_size >> 20, assignment.limits.engine_memory_mib
        if mib > most_mib:
            raise StudentFault(f"The engine is a program of {mib} MiB, more than the {most_mib} MiB of memory that it may use.")
        # In reverse order, because what nm says is cut off at the end and the names of C++ functions begin with _.
        if main_of_header and STRONG_MAIN.search(compiled(["nm", "-P", "-g", "-r", str(built)])):
            raise OtherMain(
                f"One of the sources ({_names(sources)}) has a main function that replaces that of {assignment.engine_header}, "
                f"so the program may be a test and not the engine: write a file {SUBMISSION_TOML} that names the sources of "
                'the engine, with a line such as engine.sources = ["Minimax/my_engine.cpp", "Minimax/search.cpp"]'
            )
        binary.parent.mkdir(parents=True, exist_ok=True)
        fresh = binary.with_name(f".{binary.name}.{os.getpid()}")
        try:
            shutil.copyfile(built, fresh, follow_symlinks=False)
            fresh.chmod(0o755)
            fresh.replace(binary)
        finally:
            fresh.unlink(missing_ok=True)
        return diagnostics
    finally:
        remove(scratch)


def _standard_that_is_too_old(command: Sequence[str], compiled: Callable[[Sequence[str]], str]) -> str:
    """Return the standard of a failed command, such as C++17, if the sources suit only a later one; otherwise ""."""
    named = [part for part in command if part.startswith(STANDARD)]
    later = [LATEST if part in named else part for part in command]
    try:
        # An error of inlining or of the assembler shows in neither of the two.
        too_old = named and not _has_error(compiled([*later, "-fsyntax-only"]))
        too_old = too_old and _has_error(compiled([*command, "-fsyntax-only"]))
    except (StudentFault, CouldNotGrade):
        return ""  # it took too long
    return f"C++{named[0].removeprefix(STANDARD)}" if too_old else ""


def _has_error(diagnostics: str) -> bool:
    """Return whether the compiler, not only the linker, found an error."""
    return any("error:" in line and not line.startswith("collect2:") for line in diagnostics.splitlines())


def _run(command: list[str], environment: dict[str, str], limit_s: float, scratch: Path) -> str:
    """Run the compiler and return its output, which goes to a file bounded by RLIMIT_FSIZE, not to a pipe that could fill up.

    The limit counts CPU time, like the limit of an answer (`arena.engine.stopwatch`).

    Raises:
        StudentFault: it takes too long, or its files in the scratch folder take more than COMPILER_ROOM_MIB.
        CouldNotGrade: the machine was too busy to tell whether it takes too long.
    """
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
        tree = Descendants(process.pid)
        watch = Stopwatch(tree, cpu_allowance(limit_s))
        try:
            while not _has_ended(process, watch.pause_s):
                watch.look()
                if _occupied_mib(scratch) > COMPILER_ROOM_MIB:
                    raise StudentFault(
                        f"The engine does not compile: the compiler's files take more than {COMPILER_ROOM_MIB} MiB."
                    )
        except OutOfTime as over:
            if over.doubtful:
                raise CouldNotGrade(
                    f"this machine was too busy to compile the engine: the compiler got {over.spent.cpu_s:.0f} s of CPU time "
                    f"in {over.spent.wall_s:.0f} s; grade it again when fewer programs are running"
                ) from over
            raise StudentFault(f"The engine does not compile: the compiler took longer than {limit_s:g} s.") from None
        finally:
            kill_group(process)
            tree.withheld.close()
        log.seek(0)
        return log.read(DIAGNOSTIC_BYTES).decode("utf-8", "replace")


def _occupied_mib(folder: Path) -> int:
    """Return how much of the disk the files of a folder take."""
    occupied = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # the compiler removes files meanwhile
                occupied += os.lstat(os.path.join(place, name)).st_blocks * 512
    return occupied >> 20


def _has_ended(process: subprocess.Popen[bytes], wait_s: float) -> bool:
    try:
        process.wait(timeout=wait_s)
    except subprocess.TimeoutExpired:
        return False
    return True


def _what_an_engine_defines(line: str) -> str:
    """Return how the linker's line goes on if it misses something that every engine defines, otherwise ""."""
    if not (missing := NOT_DEFINED.search(line)):
        return ""
    name = missing["name"].partition("[")[0]
    return f"; no source defines {name} exactly as the header declares it, outside any namespace or class"


def first_error(diagnostics: str) -> str:
    # The linker's last line, "collect2: error: ld returned 1", explains nothing; the lines from ld before it do.
    lines = [line.strip() for line in diagnostics.splitlines() if line.strip() and not line.startswith("collect2: error:")]
    for mark in ("error:", "undefined reference", "multiple definition"):
        for line in lines:
            if mark in line:
                return OBJECT_FILE.sub("", line)[:MESSAGE_CHARACTERS] + _what_an_engine_defines(line)
    if any(TOO_FAR in line for line in lines):
        return "the linker cannot reach all of its static data, which take 2 GiB or more"
    if "Assembler messages:" in diagnostics and (refused := ASSEMBLER.search(diagnostics)):
        # Outside a function the error is located in the assembler's input, a file that the compiler generated.
        where = "" if ".s:" in refused["place"] else f" at {refused['place']}"
        return f"the assembler rejects the inline assembly{where}: {refused['what']}"[:MESSAGE_CHARACTERS]
    return lines[0][:MESSAGE_CHARACTERS] if lines else "the compiler gave no reason"
