"""Which sources are a submission's engine, and their confined compilation."""

from __future__ import annotations

import os
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
DIAGNOSTIC_BYTES = 64 << 10


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
    mains = [p for p in sources if _includes(submission.files[p], assignment.engine_header)]
    if len(mains) > 1:
        raise StudentFault(
            f"Two engines stand side by side ({', '.join(mains)}): name the sources of the one that counts in "
            'submission.toml, for example: [engine] sources = ["' + mains[0] + '"].'
        )
    if not mains:
        raise StudentFault(f"No .cpp file in {folder} includes {assignment.engine_header}, so there is no engine to run.")
    return sources


def _listed_sources(submission: Submission) -> list[str]:
    try:
        sources = tomllib.loads(submission.files["submission.toml"].decode("utf-8"))["engine"]["sources"]
        if not isinstance(sources, list) or not sources or not all(isinstance(s, str) for s in sources):
            raise TypeError
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise StudentFault(
            'submission.toml was not understood: expected [engine] and sources = ["Minimax/my_engine.cpp", ...].'
        ) from error
    missing = [s for s in sources if s not in submission.files or not s.endswith(SOURCE_SUFFIXES)]
    if missing:
        raise StudentFault(f"submission.toml names {', '.join(missing)}, which is no collected .cpp file of the submission.")
    return sources


def _includes(source: bytes, header: str) -> bool:
    lines = (line.strip() for line in source.decode("utf-8", "replace").splitlines())
    return any(line.startswith("#") and "include" in line and header in line for line in lines)


def build_engine(workspace: Path, sources: list[str], binary: Path, assignment: Assignment, sandbox: Sandbox) -> str:
    """Compile `sources` of the workspace into `binary`, confined like everything else of a submission.

    Returns:
        The compiler's warnings, empty for none.

    Raises:
        StudentFault: it does not compile, or takes too long; the sentence quotes the first error.
    """
    scratch = Path(tempfile.mkdtemp(prefix="grader-build-")).resolve()
    limits = ProcessLimits(memory_mib=4096, cpu_s=int(assignment.compile_limit_s), processes=64, file_size_mib=64)
    try:
        command = [*assignment.compile_command, *sources, "-o", str(scratch / "engine")]
        wrapped = sandbox.wrap(command, limits=limits, read_only=[workspace], scratch=scratch, cwd=workspace)
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
    lines = [line.strip() for line in diagnostics.splitlines() if line.strip()]
    for mark in ("error:", "undefined reference", "multiple definition", "error"):
        for line in lines:
            if mark in line:
                return line[:300]
    return lines[0][:300] if lines else "the compiler said nothing"


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
