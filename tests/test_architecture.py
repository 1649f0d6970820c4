"""The arrows between the floors (STYLE.md, section Layers; DESIGN.md), read from the source of every module of this tree."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from grader.confinement import start_worker

ROOT = Path(__file__).resolve().parents[1]
AWAY = {"build", "results", "tmp", "model"}  # what is made here
PROGRAMS = {"train", "human_play", "Minimax.evaluate", "Minimax.judge", "Minimax.python_player"}
STANDARD = set(sys.stdlib_module_names)
# What the interface says is shown to a player: Game.graphic, is_shown, print_probs_value, print_params.
SHOWN = {"graphic", "start_play", "start_self_play", "get_action", "print_params"}


@cache
def modules():
    """Relative path with forward slashes -> parsed source, of every .py file of this tree."""
    found = {}
    for top in sorted(ROOT.iterdir()):
        if top.name.startswith(".") or top.name in AWAY:
            continue
        for path in [top] if top.suffix == ".py" else sorted(top.rglob("*.py")):
            found[path.relative_to(ROOT).as_posix()] = ast.parse(path.read_text(encoding="utf-8"), str(path))
    return found


def imported(name, at_import=False):
    """Absolute dotted names that a file imports, anywhere or (at_import) outside of functions alone."""
    names, waiting = set(), [modules()[name]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = name.split("/")[: -node.level] if node.level else []
            source = ".".join([*package, *([node.module] if node.module else [])])
            names.update(f"{source}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in (
            "importlib.import_module",
            "import_module",
            "__import__",
        ):
            names.update(a.value for a in node.args[:1] if isinstance(a, ast.Constant))
        if not (at_import and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))):
            waiting.extend(ast.iter_child_nodes(node))
    return names


def below(*places):
    """The files of these folders (ending in /) and files."""
    found = [name for name in modules() if name in places or any(p.endswith("/") and name.startswith(p) for p in places)]
    assert found, f"nothing lies in {places}"
    return found


def arrows(names, at_import=False):
    """(file, imported package) of all these files; a module of Minimax with its file (Minimax.judge)."""
    found = set()
    for name in names:
        for module in imported(name, at_import):
            parts = module.split(".")
            found.add((name, ".".join(parts[:2]) if parts[0] == "Minimax" else parts[0]))
    return found


def unwanted(names, allowed, at_import=False):
    return {arrow for arrow in arrows(names, at_import) if arrow[1] not in allowed}


# ------------------------------------------------------------------------------------------------ floor 1 and 2


def test_the_rules_import_the_standard_library_and_numpy_alone():
    assert unwanted(["Board/game_board.py", "Board/__init__.py"], STANDARD | {"numpy"}, at_import=True) == set()
    assert unwanted(["Board/game_board.py"], STANDARD | {"numpy", "Board"}) == set()


def test_the_rules_can_be_imported_where_there_is_no_pygame():
    probe = "import sys; sys.modules['pygame'] = None; import Board.game_board; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not {"Board.GUI_v1_4", "torch", "grader"} & set(done.stdout.split())


def test_pygame_is_known_to_the_window_alone():
    users = {name for name, package in arrows(modules()) if package == "pygame"}
    assert {name for name in users if not name.startswith("tests/")} == {"Board/GUI_v1_4.py"}


def test_the_window_is_imported_only_when_it_is_opened():
    users = [name for name in modules() if any(m.startswith("Board.GUI") for m in imported(name, at_import=True))]
    assert [name for name in users if not name.startswith("tests/")] == []


def test_what_every_room_uses_uses_no_room():
    assert unwanted(below("common/"), STANDARD | {"numpy", "torch", "common"}) == set()
    assert unwanted(below("common/"), STANDARD | {"numpy", "common"}, at_import=True) == set()


def test_the_arena_imports_the_standard_library_and_common_alone():
    arena = below("arena/")
    # Ray is for clusters and is imported when one is asked for.
    assert unwanted(arena, STANDARD | {"arena", "common"}) == {("arena/match/ray_runner.py", "ray")}
    assert unwanted(arena, STANDARD | {"arena", "common"}, at_import=True) == set()


@pytest.mark.parametrize("place", ["AlphaZero/", "instructor/reference/AlphaZero/"])
def test_the_students_package_knows_a_board_by_its_methods_and_torch_in_the_network_alone(place):
    own = STANDARD | {"numpy", "AlphaZero"}
    network = f"{place}policy_value_net_torch.py"
    assert unwanted([name for name in below(place) if name != network], own) == set()
    assert unwanted([network], own | {"torch"}) == set()


def test_the_exact_search_knows_the_rules_alone():
    """The training and the grader both ask it."""
    assert unwanted(["training/exact.py"], STANDARD | {"numpy", "Board"}) == set()


# ------------------------------------------------------------------------------------------------- upper floors


def test_the_training_engine_uses_floor_1_and_the_students_network_and_nothing_below_uses_it():
    own = STANDARD | {"numpy", "torch", "Board", "arena", "AlphaZero", "training", "common"}
    # What draws a run's curves is imported where it is installed.
    shown = {("training/run_report.py", package) for package in ("matplotlib", "tensorboardX")}
    assert unwanted(below("training/"), own) == shown
    assert unwanted(below("training/"), own, at_import=True) == set()
    lower = below("common/", "Board/", "AlphaZero/", "arena/", "Minimax/", "instructor/reference/")
    assert {arrow for arrow in arrows(lower) if arrow[1] == "training"} == set()


def test_nothing_below_the_grader_imports_it():
    lower = below("common/", "Board/", "AlphaZero/", "arena/", "Minimax/", "instructor/reference/", "training/")
    lower += below("train.py", "human_play.py")
    assert {arrow for arrow in arrows(lower) if arrow[1] == "grader"} == set()


def test_no_module_imports_a_program():
    """They wire packages together."""
    wired = {
        (name, package)
        for name, package in arrows(name for name in modules() if not name.startswith(("tests/", "bench/")))
        if package in PROGRAMS
    }
    # The worker runs a student's training and imports train there, in the other process.
    assert wired - {("grader/confinement/worker.py", "train")} == set()


def test_the_grader_imports_no_student_code_but_in_the_worker():
    assert {arrow for arrow in arrows(below("grader/")) if arrow[1] == "AlphaZero"} <= {
        ("grader/confinement/worker.py", "AlphaZero")
    }


def test_what_runs_inside_the_sandbox_imports_nothing_of_the_grader():
    assert unwanted(["grader/confinement/confine.py"], STANDARD) == set()
    worker = [f"grader/confinement/{name}" for name in start_worker.SHOWN]
    assert unwanted(worker, STANDARD | {"numpy", "grader"}, at_import=True) == set()
    assert unwanted(worker, STANDARD | {"numpy", "torch", "Board", "AlphaZero", "train", "grader"}) == set()
    own = {module for name in worker for module in imported(name) if module.startswith("grader.")}
    assert {"/".join(module.split(".")[:3]) + ".py" for module in own} <= set(worker)


# The rooms of the grader: each uses those before it.
ROOMS = ("confinement", "pipeline", "judge", "student", "instructor")


def rooms_used(name):
    """The rooms of the grader that a file imports from."""
    parts = (module.split(".") for module in imported(name))
    return {part[1] for part in parts if part[0] == "grader" and len(part) > 1 and part[1] in ROOMS}


def test_a_room_of_the_grader_uses_the_rooms_before_it_alone():
    upward = {
        (name, used)
        for place, room in enumerate(ROOMS)
        for name in below(f"grader/{room}/")
        for used in rooms_used(name)
        if ROOMS.index(used) > place
    }
    assert upward == set()
    assert {name for name in below("grader/assignment.py", "grader/errors.py", "grader/screen.py") if rooms_used(name)} == set()
    assert {name.split("/")[1] for name in below("grader/") if name.count("/") > 1} == set(ROOMS)


def test_checks_import_neither_each_other_nor_pytests_side_of_a_run():
    checks = {name[:-3].replace("/", ".") for name in below("grader/judge/") if "/test_" in name or "/conftest" in name}
    users = {
        (name, module)
        for name in below("grader/")
        for module in imported(name)
        if any(f"{module}.".startswith(f"{check}.") for check in checks)
    }
    assert users == set()


def test_nothing_outside_instructor_imports_it():
    outside = [name for name in modules() if not name.startswith("instructor/")]
    assert {arrow for arrow in arrows(outside) if arrow[1] == "instructor"} == set()


def test_the_folder_tensorflow_is_no_package_and_does_not_shadow_the_real_one():
    assert not list((ROOT / "tensorflow").rglob("__init__.py"))
    ours = {name[:-3].replace("/", ".") for name in modules() if name.startswith("tensorflow/")} | {"tensorflow.toolkit"}
    users = {(name, module) for name in modules() for module in imported(name) if module.startswith(tuple(ours))}
    assert users == set()
    outside = [name for name in modules() if not name.startswith(("tensorflow/", "tests/"))]
    assert {arrow for arrow in arrows(outside) if arrow[1] == "tensorflow"} == set()


# ----------------------------------------------------------------------------------------------------- habits


def test_no_except_is_bare():
    handlers = {
        (n, h.lineno)
        for n, tree in modules().items()
        for h in ast.walk(tree)
        if isinstance(h, ast.ExceptHandler) and not h.type
    }
    assert handlers == set()


def test_library_code_ends_no_program_and_prints_only_where_the_interface_says_so():
    talk = set()

    def visit(name, node, function):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            function = node.name
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in ("exit", "quit", "sys.exit", "os._exit") or (called == "print" and function not in SHOWN):
                talk.add((name, node.lineno, called))
        for child in ast.iter_child_nodes(node):
            visit(name, child, function)

    libraries = below("Board/", "arena/", "AlphaZero/", "instructor/reference/AlphaZero/")
    for name in set(libraries) - {"arena/__main__.py"}:  # a program
        visit(name, modules()[name], "")
    assert talk == set()


def test_no_module_is_longer_than_500_lines():
    lengths = {name: len((ROOT / name).read_text(encoding="utf-8").splitlines()) for name in modules()}
    assert {name: length for name, length in lengths.items() if length > 500} == {}


def test_networks_are_called_with_the_handles_for_testing_alone():
    networks = ("AlphaZero/policy_value_net_torch.py", "tensorflow/policy_value_net_tensorflow.py", "instructor/")
    for_training = {"action_fc_train", "evaluation_fc2_train"}
    naming = {
        name
        for name, tree in modules().items()
        if not name.startswith(networks)
        and any(isinstance(node, ast.Attribute) and node.attr in for_training for node in ast.walk(tree))
    }
    assert naming == set(), "policy_value of published solutions asserts action_fc_test and evaluation_fc2_test"
