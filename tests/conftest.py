"""Shared by all tests: the framework's engines, built once, engines left behind, and programs loaded as modules."""

import contextlib
import importlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from waiting import GUARDIAN_S

from arena.engine.guardian import MARK
from arena.engine.withheld import core_times

ROOT = Path(__file__).resolve().parents[1]

# Test processes share the cores with each other and with the programs that they start.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Files that take more than a minute, the longest first. Those that start last keep a core waiting (make test).
LONGEST = (
    "labs/test_lab_samples.py",
    "training/test_selfplay_run.py",
    "grader/test_grading.py",
    "grader/test_ray_grading.py",
    "trust/test_attacks.py",
    "grader/test_check.py",
    "arena/test_ray_runner.py",
    "trust/test_mutants.py",
    "grader/test_gradebook.py",
    "grader/test_release.py",
    "tensorflow_tools/test_convert.py",
    "grader/test_kill_class.py",
    "minimax/test_engines.py",
    "grader/test_formgrader.py",
)


def pytest_collection_modifyitems(items):
    """Begin with the longest files, and skip what only TRUST=all runs."""
    for item in items:
        if os.environ.get("TRUST") != "all" and (mark := item.get_closest_marker("thorough")):
            item.add_marker(pytest.mark.skip(reason=f"{mark.args[0]}: TRUST=all runs it"))
    places = {ROOT / "tests" / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(LONGEST)))


# A busy machine is no fault of a test.
settings.register_profile("any_machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any_machine")

# A shell makes its background jobs and their programs ignore Ctrl-C, which some tests press.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def engines():
    """The folder with sample, baseline and reference, as `make engines` builds them."""
    subprocess.run(["make", "-s", "engines"], cwd=ROOT, check=True)
    return ROOT / "build" / "engines"


@pytest.fixture(scope="session")
def pbrain(tmp_path_factory):
    """An engine of the Gomocup protocol, built once."""
    program = tmp_path_factory.mktemp("pbrain") / "pbrain-windows"
    source = ROOT / "tests" / "arena" / "pbrain.cpp"
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run(["g++", *flags, str(source), "-o", str(program)], check=True)
    return program


@pytest.fixture(scope="module")
def cluster():
    """Start a cluster of two nodes with one CPU each on this machine."""
    from ray.cluster_utils import Cluster

    # The death of a node is noticed soon, and workers have the priority of the tests beside them (by default, Ray's are nice).
    system = {"health_check_initial_delay_ms": 1000, "health_check_period_ms": 500, "health_check_timeout_ms": 2000}
    head = {
        "num_cpus": 1,
        "include_dashboard": False,
        "_system_config": {**system, "worker_niceness": 0, "prestart_worker_first_driver": False},
    }
    nodes = Cluster(initialize_head=True, head_node_args=head)
    nodes.add_node(num_cpus=1)
    yield nodes
    nodes.shutdown()


def left_behind():
    """Process id of each engine whose match is over, or is this process's -> that of the match, with which its mark begins."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            marks = [text for text in entry.read_bytes().split(b"\0") if text.startswith(MARK.encode() + b"=")]
        except OSError:
            continue
        matches = [int(mark.split(b"=")[1].split(b"-")[0]) for mark in marks]
        for match in matches:
            if match == os.getpid() or not Path(f"/proc/{match}").exists():
                found[entry.parent.name] = match
    return found


@pytest.fixture
def no_engine_left():
    """Fails a test that leaves an engine running."""
    yield
    deadline = time.monotonic() + GUARDIAN_S
    while (left := left_behind()) and os.getpid() not in left.values() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert left == {}


@pytest.fixture(scope="session")
def load_module():
    """Loads a file as a module of its own, under a name that no import uses."""

    def load(path):
        name = f"loaded_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # where a dataclass looks its annotations up
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def reference(monkeypatch):
    """Imports a module of the reference by its name; the tree's own stubs are forgotten, and the reference afterwards."""

    def forget():
        for name in [name for name in sys.modules if name.split(".")[0] == "AlphaZero"]:
            del sys.modules[name]

    forget()
    monkeypatch.syspath_prepend(ROOT / "instructor" / "reference")
    yield lambda name: importlib.import_module(f"AlphaZero.{name}")
    forget()


@pytest.fixture
def checks_run_here(monkeypatch):
    """Run the checks of gradings in this process, where torch is loaded; with TRUST=all they run as in grading."""
    if os.environ.get("TRUST") != "all":
        from checks_here import run_checks_here

        run_checks_here(monkeypatch)


@pytest.fixture
def any_library():
    """Let OpenVINO compute the networks of a test too, if it is installed."""


@pytest.fixture
def openvino(any_library):
    import training.inference.openvino_model  # noqa: F401  # keeps OpenVINO from reporting its use

    return pytest.importorskip("openvino", reason="OpenVINO is not installed")


@pytest.fixture(autouse=True)
def _torch_computes(request, monkeypatch):
    """Hide OpenVINO from tests that do not ask for it: it takes more than a second to convert and compile a network."""
    if "any_library" not in request.fixturenames:
        monkeypatch.setitem(sys.modules, "openvino", None)


@pytest.fixture(autouse=True)
def _subnormals_are_numbers():
    """Undo what `common.subnormals` does for a whole process: hypothesis refuses to draw numbers that it would take as 0."""
    yield
    if torch := sys.modules.get("torch"):
        torch.set_flush_denormal(False)


def nobodys_s():
    """Seconds of this thread's cores that no program here could have: a hypervisor or a limit on CPU time took them."""
    throttled_s = 0.0
    for path in ("/sys/fs/cgroup/cpu.stat", "/sys/fs/cgroup/cpu/cpu.stat"):  # version 2, version 1
        with contextlib.suppress(OSError):
            told = dict(line.split() for line in Path(path).read_text().splitlines())
            throttled_s += int(told.get("throttled_usec", 0)) / 1e6 + int(told.get("throttled_time", 0)) / 1e9
    return throttled_s + sum(core.stolen_s for core in core_times().values())


@pytest.fixture
def busy_core():
    """Pin this thread and what it starts to one core, which four other programs keep busy; see `nobodys_s` for its value."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    # In sessions of their own, as engines and workers are: schedulers share a core among sessions first.
    command = [sys.executable, "-S", "-c", "while True: pass"]
    others = [subprocess.Popen(command, start_new_session=True) for _ in range(4)]
    yield nobodys_s
    for other in others:
        other.kill()
        other.wait()
    os.sched_setaffinity(0, before)
