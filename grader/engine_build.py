"""Which sources are a submission's engine, and their confined compilation."""

from __future__ import annotations

import os
import posixpath
import re
import shutil
import signal
import subprocess
import tempfile
import tomllib
from pathlib import Path

from grader.assignment import ROOT, Assignment
from grader.errors import CouldNotGrade, StudentFault, UsageError
from grader.sandbox import ProcessLimits, Sandbox
from grader.submission import Submission

SOURCE_SUFFIXES = (".cpp", ".cc")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^">\n]+)[">]', re.MULTILINE)
DIAGNOSTIC_BYTES = 64 << 10
MESSAGE_LETTERS = 300


def require_compiler(assignment: Assignment) -> None:
    """UsageError with the package to install where the compiler is missing."""
    compiler = assignment.compile_command[0]
    if shutil.which(compiler) is None:
        raise UsageError(f"expected the C++ compiler {compiler} on PATH; install it first (Debian, Ubuntu: package {compiler})")


def engine_sources(submission: Submission, assignment: Assignment) -> list[str]:
    """Relative paths of the sources that make the submission's engine, in order.

    They are the list in `submission.toml`, else every .cpp below the engine folder that was not handed out.

    Raises:
        StudentFault: there is no engine, the list names a missing file, or two engines stand side by side.
    """
    if "submission.toml" in submission.files:
        return _listed_sources(submission)
    folder = f"{assignment.engine_folder}/"
    sources = [p for p in submission.files if p.startswith(folder) and p.endswith(SOURCE_SUFFIXES)]
    if not sources:
        raise StudentFault(f"No engine was found: expected a .cpp file of your own in {folder} beside the handed-out ones.")
    including = _including_header(submission, assignment)
    mains = [p for p in sources if p in including]
    if len(mains) > 1:
        raise StudentFault(
            f"Two engines stand side by side ({', '.join(mains)[:MESSAGE_LETTERS]}): name the sources of the one that counts "
            'in submission.toml, for example: [engine] sources = ["' + mains[0] + '"].'
        )
    if not mains:
        raise StudentFault(f"No .cpp file in {folder} includes {assignment.engine_header}, so there is no engine to run.")
    return sources


def _listed_sources(submission: Submission) -> list[str]:
    try:
        # utf-8-sig: Windows editors write a byte order mark.
        sources = tomllib.loads(submission.files["submission.toml"].decode("utf-8-sig"))["engine"]["sources"]
        if not isinstance(sources, list) or not sources or not all(isinstance(s, str) for s in sources):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StudentFault(
            'submission.toml was not understood: expected [engine] and sources = ["Minimax/my_engine.cpp", ...].'
        ) from error
    missing = [s for s in sources if s not in submission.files or not s.endswith(SOURCE_SUFFIXES)]
    if missing:
        names = ", ".join(s if s.isprintable() else repr(s) for s in missing)[:MESSAGE_LETTERS]
        raise StudentFault(f"submission.toml names {names}, which is no collected .cpp file of the submission.")
    return sources


def _including_header(submission: Submission, assignment: Assignment) -> set[str]:
    """The files that include the engine header, themselves or through headers of the submission."""
    found: set[str] = set()
    includers: dict[str, set[str]] = {}
    for path, content in submission.files.items():
        for name in INCLUDE.findall(content.decode("utf-8-sig", "replace")):
            if posixpath.basename(name) == assignment.engine_header:
                found.add(path)
            # Where the compiler looks: beside the file, then where -I points.
            for folder in (posixpath.dirname(path), assignment.engine_folder):
                includers.setdefault(posixpath.normpath(f"{folder}/{name}"), set()).add(path)
    waiting = list(found)
    while waiting:
        further = includers.get(waiting.pop(), set()) - found
        found |= further
        waiting.extend(further)
    return found


def build_engine(workspace: Path, sources: list[str], binary: Path, assignment: Assignment, sandbox: Sandbox) -> str:
    """Compile `sources` of the workspace into `binary`, confined like everything else of a submission.

    Returns:
        The compiler's warnings, empty for none.

    Raises:
        StudentFault: it does not compile, or takes too long; the sentence quotes the first error.
    """
    scratch = Path(tempfile.mkdtemp(prefix="grader-build-")).resolve()
    limits = ProcessLimits(4096, int(assignment.compile_limit_s), processes=64, file_size_mib=64, children=True)
    try:
        command = [*assignment.compile_command, *sources, "-o", str(scratch / "engine")]
        wrapped = sandbox.wrap(command, limits=limits, read_only=[workspace], scratch=scratch, keeps=True, cwd=workspace)
        environment = {"PATH": "/usr/bin:/bin", "TMPDIR": str(scratch), "LANG": "C.UTF-8", "HOME": str(scratch)}
        diagnostics = _run(wrapped, environment, assignment.compile_limit_s)
        built = scratch / "engine"
        if not built.is_file() or built.is_symlink():
            raise StudentFault(f"The engine does not compile: {_first_error(diagnostics)}")
        binary.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(built, binary, follow_symlinks=False)
        binary.chmod(0o755)
        return diagnostics
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _run(command: list[str], environment: dict[str, str], limit_s: float) -> str:
    """The compiler's output; standard error goes to a file that RLIMIT_FSIZE bounds, not to a pipe that fills."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
        try:
            process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise StudentFault(f"The engine does not compile: the compiler took longer than {limit_s:g} s.") from None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        log.seek(0)
        return log.read(DIAGNOSTIC_BYTES).decode("utf-8", "replace")


def _first_error(diagnostics: str) -> str:
    # The linker's verdict "collect2: error: ld returned 1" says nothing; what ld said before it does.
    lines = [line.strip() for line in diagnostics.splitlines() if line.strip() and not line.startswith("collect2: error:")]
    for mark in ("error:", "undefined reference", "multiple definition"):
        for line in lines:
            if mark in line:
                return line[:MESSAGE_LETTERS]
    return lines[0][:MESSAGE_LETTERS] if lines else "the compiler said nothing"


def build_opponent(name: str, assignment: Assignment, root: Path = ROOT) -> Path:
    """The framework's own engine `name` below `build/engines/`, compiled if its sources are newer.

    Raises:
        CouldNotGrade: our own source does not compile.
    """
    binary = root / "build" / "engines" / name
    sources = [root / source for source in assignment.opponents[name]]
    header = root / assignment.engine_folder / assignment.engine_header
    if binary.exists() and binary.stat().st_mtime >= max(p.stat().st_mtime for p in [*sources, header]):
        return binary
    binary.parent.mkdir(parents=True, exist_ok=True)
    fresh = binary.with_name(f".{name}.{os.getpid()}")
    command = [*assignment.compile_command, *map(str, sources), "-o", str(fresh)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode:
        raise CouldNotGrade(f"the opponent {name} does not compile: {_first_error(done.stderr)}")
    fresh.replace(binary)
    return binary
