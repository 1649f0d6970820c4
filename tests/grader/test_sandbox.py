"""What a confined program sees, how it ends, and that whoever holds it from outside still can, at every level."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from arena.engine.process import ProcessTree, is_dead
from common.errors import UsageError
from grader.confinement import sandbox
from grader.confinement.confine import call_filter
from grader.confinement.sandbox import (
    CONFINE,
    LEVELS,
    TMP_BYTES,
    WITH_NAMESPACES,
    ProcessLimits,
    Sandbox,
    interpreter_files,
    interpreter_folders,
    interpreter_links,
    try_level,
)

pytestmark = pytest.mark.machine

LIMITS = ProcessLimits(memory_mib=512, cpu_s=20, processes=32, file_size_mib=128, children=True)
ROOT = Path(__file__).resolve().parents[2]
PYTHON = [sys.executable, "-I", "-S", "-c"]
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


@pytest.fixture(params=LEVELS)
def level(request):
    """Each level that works on this machine."""
    found = try_level(request.param)
    if isinstance(found, str):
        pytest.skip(f"{request.param}: {found}")
    return found


@pytest.fixture
def with_namespaces(level):
    if level.level not in WITH_NAMESPACES:
        pytest.skip("without namespaces the machine's root is seen")
    return level


def run(sandbox, command, **given):
    wrapped = sandbox.wrap(command, **{"limits": LIMITS, **given})
    return subprocess.run(wrapped, capture_output=True, text=True, env=ENVIRONMENT, stdin=subprocess.DEVNULL, timeout=60)


@pytest.mark.parametrize(
    ("words", "code"), [("exit 3", 3), ("kill -KILL $$", -9), ("kill -TERM $$", -15), ("kill -ABRT $$", -6)]
)
def test_a_program_ends_outside_as_it_ended_inside(level, words, code):
    told = 128 - code if level.level == "bubblewrap" and code < 0 else code
    assert run(level, ["/bin/sh", "-c", words]).returncode == told


def test_a_program_that_cannot_be_started_is_told(level):
    done = run(level, ["/no/such/program"])
    assert done.returncode == 126 and done.stderr == "cannot start /no/such/program: No such file or directory\n"


def test_a_reader_sees_that_a_program_closed_its_output(level):
    if level.level == "bubblewrap":
        pytest.skip("bubblewrap holds it open itself")
    code = "import os, time; os.write(1, b'last'); os.close(1); os.close(2); time.sleep(60)"
    wrapped = level.wrap([*PYTHON, code], limits=LIMITS)
    with subprocess.Popen(wrapped, stdout=subprocess.PIPE, env=ENVIRONMENT, start_new_session=True) as process:
        assert process.stdout.read() == b"last" and process.poll() is None
        os.killpg(process.pid, signal.SIGKILL)


def test_a_program_is_timed_stopped_resumed_and_ended_from_outside(level):
    wrapped = level.wrap([*PYTHON, "print('ready', flush=True)\nwhile True: pass"], limits=LIMITS)
    tree = ProcessTree(wrapped, env=ENVIRONMENT)
    try:
        until = time.monotonic() + 30
        while not tree.stdout.read() and time.monotonic() < until:
            time.sleep(0.01)
        while (begun := tree.cpu_s()) < 0.2 and time.monotonic() < until:
            time.sleep(0.01)
        assert begun >= 0.2
        tree.stop()
        stopped = tree.cpu_s()
        time.sleep(0.3)
        assert tree.cpu_s() <= stopped + 0.05
        tree.resume()
        while (later := tree.cpu_s()) < stopped + 0.1 and time.monotonic() < until:
            time.sleep(0.01)
        assert later >= stopped + 0.1
        members = tree.members()
    finally:
        tree.kill()
    assert len(members) == {"namespaces": 3, "bubblewrap": 3}.get(level.level, 1)
    assert all(is_dead(pid) for pid in members)


def test_the_places_in_memory_may_be_written_and_are_gone_afterwards(with_namespaces, tmp_path):
    code = "import os, sys; [open(f'{p}/left', 'w').write('x') for p in sys.argv[1:]]; print(*os.listdir('/tmp'))"
    places = [str(tmp_path), "/tmp", "/dev/shm"]
    done = run(with_namespaces, [*PYTHON, code, *places], scratch=tmp_path)
    assert done.returncode == 0 and "left" in done.stdout.split(), done.stderr
    assert os.listdir(tmp_path) == [] and not any(Path(place, "left").exists() for place in places)


def test_a_scratch_that_is_kept_holds_what_was_written(level, tmp_path):
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents[:2]:
        parent.chmod(0o755)
    done = run(level, ["/bin/sh", "-c", "echo kept > file; echo $PWD"], scratch=tmp_path, keeps=True)
    assert done.stdout == f"{tmp_path}\n", done.stderr
    assert (tmp_path / "file").read_text() == "kept\n"


def test_places_in_memory_have_a_size(with_namespaces, tmp_path):
    code = "import sys\ntry: open(sys.argv[1] + '/f', 'wb').write(bytes(100 << 20))\nexcept OSError as e: print(e.strerror)"
    for place in (tmp_path, "/tmp", "/dev/shm"):
        assert run(with_namespaces, [*PYTHON, code, str(place)], scratch=tmp_path).stdout == "No space left on device\n"
    assert TMP_BYTES < 100 << 20


def test_the_root_holds_what_was_named_and_nothing_else(with_namespaces, tmp_path):
    shown, hidden = tmp_path / "shown", tmp_path / "hidden"
    for path in (shown, hidden):
        path.mkdir()
        (path / "file").write_text("text")
    code = f"import os; print(os.listdir({str(tmp_path)!r}), open({str(shown / 'file')!r}).read(), *sorted(os.listdir('/')))"
    listed, text, *top = run(with_namespaces, [*PYTHON, code], read_only=[shown]).stdout.split()
    assert (listed, text) == ("['shown']", "text")
    known = {"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "dev", "proc", "tmp"}
    interpreter = [*interpreter_folders(), *interpreter_files(), *interpreter_links()]
    assert set(top) <= known | {path.parts[1] for path in [tmp_path, *interpreter, CONFINE]}
    write = f"open({str(shown / 'file')!r}, 'w')"
    assert "Error" in run(with_namespaces, [*PYTHON, write], read_only=[shown]).stderr
    assert (shown / "file").read_text() == "text"


def test_a_file_may_be_named_that_lies_in_a_folder_that_is_named_too(with_namespaces, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "file").write_text("text")
    named = [tmp_path / "file", tmp_path, tmp_path / "file"]
    assert run(with_namespaces, ["/bin/cat", str(tmp_path / "file")], read_only=named).stdout == "text"


def linked(home, real):
    """A virtual environment's interpreter behind two more links, in folders of which nothing else is shown."""
    (home / "bin").mkdir(parents=True)
    (home / "bin/python3").symlink_to(real)
    (home.parent / "links").mkdir()
    (home.parent / "links/python3").symlink_to("../home/bin/python3")
    (home.parent / "venv/bin").mkdir(parents=True)
    (home.parent / "venv/bin/python3").symlink_to(home.parent / "links/python3")
    return home.parent / "venv/bin/python3"


def scripted(home, real):
    """The same with a script that starts the interpreter under its own name."""
    started = linked(home, real)
    (home / "bin/python3").unlink()
    (home / "bin/python3").write_text(f'#!/bin/bash\nexec -a "$0" {real} "$@"\n')
    (home / "bin/python3").chmod(0o755)
    return started


@pytest.mark.parametrize("lay", [linked, scripted])
def test_an_interpreter_behind_links_starts_and_nothing_beside_it_is_seen(level, monkeypatch, tmp_path, lay):
    home = tmp_path / "home"
    started = lay(home, Path(sys.executable).resolve())
    (home / "secret").write_text("hidden")
    for python in (started, home / "bin/python3"):
        monkeypatch.setattr(sys, "executable", str(python))
        assert run(level, [str(python), "-I", "-S", "-c", "print('inside')"]).stdout == "inside\n"
        if level.level != "rlimits":
            done = run(level, ["/bin/cat", str(home / "secret")])
            assert done.returncode == 1 and done.stdout == "", f"{python} shows it"


def test_access_answers_as_open_does(level, tmp_path):
    """Below a folder that others cannot pass, too."""
    code = "import os, sys; print(os.access(sys.argv[1], os.R_OK | os.W_OK | os.X_OK)); open(sys.argv[1] + '/file', 'w')"
    scratch = tmp_path / "closed/scratch"
    scratch.mkdir(parents=True)
    scratch.parent.chmod(0o700)
    done = run(level, [*PYTHON, code, str(scratch)], scratch=scratch, keeps=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_closed_folder_is_named_where_a_program_under_its_own_user_id_cannot_be_let_in(monkeypatch, tmp_path):
    scratch = tmp_path / "closed/scratch"
    scratch.mkdir(parents=True)
    scratch.parent.chmod(0o700)
    monkeypatch.setattr(sandbox, "own_user_ids", lambda: range(os.getuid(), os.getuid() + 1))
    monkeypatch.setattr(sandbox, "_reading", lambda level: [])
    with pytest.raises(UsageError, match=r"expected folders that other users can pass.* is closed: choose another folder"):
        Sandbox("rlimits", True).wrap(["/bin/true"], limits=LIMITS, scratch=scratch)


def test_settings_of_the_kernel_are_neither_written_nor_its_memory_read(with_namespaces):
    code = "import os; print([p for p in ('sys/kernel/hostname', 'sysrq-trigger') if os.access(f'/proc/{p}', os.W_OK)])"
    assert run(with_namespaces, [*PYTHON, code]).stdout == "[]\n"


def test_without_namespaces_a_change_of_mode_seems_to_succeed_and_changes_nothing(tmp_path):
    mine = tmp_path / "mine"
    mine.write_text("text")
    mine.chmod(0o640)
    code = f"import os; os.chmod({str(mine)!r}, 0o777); os.utime({str(mine)!r}, (1, 1)); print('done')"
    before = mine.stat()
    assert run(Sandbox("rlimits", False), [*PYTHON, code]).stdout == "done\n"
    after = mine.stat()
    assert (after.st_mode, after.st_mtime) == (before.st_mode, before.st_mtime)


def test_without_namespaces_a_program_signals_itself_alone():
    with subprocess.Popen([*PYTHON, "input()"], stdin=subprocess.PIPE) as other:
        code = f"import os, signal\ntry: os.kill({other.pid}, 0)\nexcept PermissionError: os.kill(os.getpid(), signal.SIGTERM)"
        assert run(Sandbox("rlimits", False), [*PYTHON, code]).returncode == -signal.SIGTERM


SIGNALS_BY_A_PIPE = """
import fcntl, os, signal, sys
reads, writes = os.pipe()
refused = 0
for command, value in ((fcntl.F_SETSIG, signal.SIGKILL), (fcntl.F_SETOWN, int(sys.argv[1]))):
    try: fcntl.fcntl(reads, command, value)
    except PermissionError: refused += 1
for request in (0x8901, 0x8902):
    try: fcntl.ioctl(reads, request, int(sys.argv[1]).to_bytes(4, "little"))
    except PermissionError: refused += 1
fcntl.fcntl(reads, fcntl.F_SETFL, fcntl.fcntl(reads, fcntl.F_GETFL) | os.O_ASYNC)
os.write(writes, b"x")
print(refused, os.read(reads, 1))
"""


def test_without_namespaces_no_file_signals_another_process():
    with subprocess.Popen([*PYTHON, "input()"], stdin=subprocess.PIPE) as other:
        assert run(Sandbox("rlimits", False), [*PYTHON, SIGNALS_BY_A_PIPE, str(other.pid)]).stdout == "4 b'x'\n"
        assert other.poll() is None


def test_without_namespaces_queues_and_memory_of_the_same_user_are_out_of_reach():
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\n"
        "print(*(call(*given) == -1 and ctypes.get_errno() for call, *given in ("
        "(libc.shmat, 1 << 30, None, 0), (libc.semctl, 1 << 30, 0, 0), (libc.msgctl, 1 << 30, 0, None), "
        "(libc.mq_open, b'/no-such-queue', 0))))"
    )
    assert run(Sandbox("rlimits", False), [*PYTHON, code]).stdout == "1 1 1 1\n"


def test_programs_started_by_one_command_have_their_own_limits_of_threads(level):
    """The games of a match start the same command at once; the kernel counts the threads of a user."""
    if not level.own_user:
        pytest.skip("programs run under the user id of the grader")
    wrapped = level.wrap([*PYTHON, "import os; print(os.getuid())"], limits=LIMITS)
    found = {int(subprocess.run(wrapped, capture_output=True, env=ENVIRONMENT, timeout=60).stdout) for _ in range(3)}
    assert len(found) > 1 and found <= set(sandbox.own_user_ids())


def test_there_is_no_filter_for_an_unknown_processor():
    assert call_filter("s390x", children=False) == b"" != call_filter("aarch64", children=False)


HOLDING = """
import sys, time
from pathlib import Path
from grader.confinement.sandbox import passing_folder
with passing_folder("probe-") as folder:
    Path(folder, "laid").mkdir()
    print(folder, oct(folder.stat().st_mode & 0o777), flush=True)
    time.sleep(int(sys.argv[1]))
"""


@pytest.mark.parametrize("sent", [None, signal.SIGKILL], ids=["at the end", "killed"])
def test_a_passing_folder_goes_with_its_process(sent, tmp_path):
    command, environment = [sys.executable, "-c", HOLDING, "60" if sent else "0"], {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        name, mode = process.stdout.readline().split()
        assert Path(name).parent == tmp_path and mode == "0o711"
        if sent:
            process.send_signal(sent)
    until = time.monotonic() + 10
    while Path(name).exists() and time.monotonic() < until:
        time.sleep(0.01)
    assert list(tmp_path.iterdir()) == []


def test_a_program_changes_neither_its_core_nor_its_priority(level):
    """Otherwise it could wait behind other programs at will, and its time would seem to be withheld by them."""
    tries = "os.sched_setaffinity(0, {min(before)}), os.nice(7), os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))"
    after = "(os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))"
    code = f"import os\nbefore = os.sched_getaffinity(0)\nwas = {after}\n{tries}\nprint(was == {after})"
    done = run(level, [*PYTHON, code])
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_program_gets_no_semaphores_of_the_kernels(level):
    """The kernel charges their memory to no process, and without namespaces they outlive the program."""
    code = (
        "import ctypes\nlibc = ctypes.CDLL(None)\nfound = libc.semget(0, 1, 0o600)\nprint(found)\n"
        "if found >= 0: libc.semctl(found, 0, 0)"
    )
    assert run(level, [*PYTHON, code]).stdout == "-1\n"
