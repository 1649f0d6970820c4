"""The rooms of this tree and the arrows between them: docs/architecture.md names them, and the source must agree.

`Tables` reads the two tables of that page: a row for each room, and one for each file that imports other things than its
room. The rest of this module holds what a table cannot say, and the habits of CONTRIBUTING.md.
"""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from grader.confinement import worker_entry

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


@cache
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


WINDOW = ("Board.GUI", "Board.window")

# ------------------------------------------------------------------------------------------------ rooms and arrows

ROW = re.compile(r"\| `([^`]+)` \|[^|]*\|([^|]*)\|([^|]*)\|")
NAME = re.compile(r"`([^`]+)`( \(late\))?")
NO_PACKAGES = {"tensorflow"}  # this name always means the library
BESIDE = ("tests/", "instructor/submissions/")  # tests import every room; samples are what students hand in
SUBMISSION = "instructor/reference/"  # laid out as a submission: by AlphaZero it means its own


class Tables:
    """The two tables of docs/architecture.md: what each room, from the lowest to the highest, and some files may import.

    Attributes:
        rooms: folders (ending in /) and programs, in the order of the page.
        allowed: room or file of the second table -> the rooms and libraries that it imports.
        late: room or file -> those of them that it imports inside functions only.
    """

    def __init__(self, text):
        self.rooms, self.allowed, self.late = [], {}, {}
        of_rooms = False
        for line in text.splitlines():
            if line.startswith(("| Room |", "| File |")):
                of_rooms = line.startswith("| Room |")
            if row := ROW.fullmatch(line):
                place = row[1]
                found = [name for cell in row.groups()[1:] for name in NAME.findall(cell)]
                assert place not in self.allowed, f"two rows for {place}"
                self.rooms += [place] * of_rooms
                self.allowed[place] = {name for name, _ in found}
                self.late[place] = {name for name, late in found if late}

    def room(self, path):
        """The room of a file or a folder: the longest name that fits, or None."""
        fitting = [room for room in self.rooms if path == room or (room.endswith("/") and path.startswith(room))]
        return max(fitting, key=len, default=None)

    def target(self, name, module):
        """The room or the library that an import of a file names; None for its own room and the standard library."""
        first, *rest = module.split(".")
        beside = [(folder / f"{first}.py").as_posix() for folder in Path(name).parents if folder.name]
        if first in STANDARD or any(path in modules() for path in beside):
            return None
        if first in NO_PACKAGES:
            return first
        if name.startswith(SUBMISSION) and first == "AlphaZero":
            return None
        if name.startswith("labs/") and (ROOT / "labs" / name.split("/")[1] / first).is_dir():
            return None  # the submission, as a lab's reference and what runs beside it name it
        for length in range(len(rest), -1, -1):
            path = "/".join([first, *rest[:length]])
            for found in (f"{path}.py", f"{path}/"):
                if found in modules() or f"{found}__init__.py" in modules():
                    room = self.room(found)
                    return None if room == self.room(name) else room
        return first

    def imports(self, name, at_import=False):
        """The rooms and libraries that a file imports, anywhere or (at_import) outside of functions alone."""
        return {target for module in imported(name, at_import) if (target := self.target(name, module))}

    def files(self, place):
        """The files that a row speaks of: those of a room without the ones that have rows of their own."""
        if place not in self.rooms:
            return [place] if place in modules() else []
        own = [name for name in modules() if self.room(name) == place and not name.startswith(BESIDE)]
        return [name for name in own if name == place or name not in self.allowed]


TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PAGE = Tables(TEXT)


def test_nothing_kept_here_is_left_out_by_gitignore():
    """A new module in a folder that .gitignore names would be missing in every clone."""
    done = subprocess.run(["git", "ls-files", "-ci", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a clone")
    assert done.stdout == ""


def test_every_module_lies_in_a_room_of_the_page():
    assert [name for name in modules() if PAGE.room(name) is None and not name.startswith(BESIDE)] == []
    assert {f"grader/{name.split('/')[1]}/" for name in below("grader/") if name.count("/") > 1} <= set(PAGE.rooms)


@pytest.mark.parametrize("place", PAGE.allowed)
def test_a_room_imports_what_the_page_says(place):
    names = PAGE.files(place)
    assert names, f"docs/architecture.md names {place}, where no module lies"
    used = {target for name in names for target in PAGE.imports(name)}
    at_once = {target for name in names for target in PAGE.imports(name, at_import=True)}
    assert used == PAGE.allowed[place], f"the row of {place} in docs/architecture.md is not what it imports"
    assert used - at_once == PAGE.late[place], f"the row of {place} marks other imports as late than those inside functions"


def test_a_room_imports_only_rooms_above_it_in_the_table():
    order = {room: place for place, room in enumerate(PAGE.rooms)}
    assert {
        (place, used)
        for place, names in PAGE.allowed.items()
        for used in names
        if used in order and order[used] > order[PAGE.room(place)]
    } == set()


def test_the_folders_of_the_arena_import_only_those_below_them():
    floors = ["rules", "engine", "statistics", "match", "suite", "view"]
    for name in below("arena/"):
        own = name.split("/")[1].removesuffix(".py")
        used = {module.split(".")[1] for module in imported(name) if module.startswith("arena.")}
        if own in floors:
            assert used <= set(floors[: floors.index(own) + 1]), name
        else:
            assert own in ("__init__", "__main__"), f"{name} is not on a floor of the arena"


def test_the_drawing_shows_arrows_of_the_table():
    drawing = re.search(r"^```mermaid\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)[1]
    drawn = {
        node: label.split("<br>")[0].split(", ") for node, label in re.findall(r'^ *(\w+)\["([^"]+)"\]', drawing, re.MULTILINE)
    }
    assert {room for rooms in drawn.values() for room in rooms} <= set(PAGE.rooms)
    drawn_arrows = re.findall(r"^ *(\w+) --> (\w+)$", drawing, re.MULTILINE)
    assert len(drawn_arrows) > 8
    for first, second in drawn_arrows:
        used = {name for room in drawn[first] for name in PAGE.allowed[room]}
        assert any(name.startswith(room) for name in used for room in drawn[second]), f"{first} does not import {second}"


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/index.md", "CONTRIBUTING.md"])
def test_every_path_that_a_page_for_contributors_names_exists(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", text)
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    assert paths or linked
    made_here = ("build/",)
    assert [path for path in paths if not path.startswith(made_here) and not path_exists(path)] == []
    assert [link for link in linked if not (ROOT / page).parent.joinpath(link).exists()] == []


def path_exists(path):
    """Whether a path lies in this tree; NAME stands for any name, and a path may begin two folders down."""
    pattern = path.replace("NAME", "*").rstrip("/")
    return any(any(ROOT.glob(f"{above}{pattern}")) for above in ("", "*/", "*/*/"))


def test_an_arrow_that_the_page_lacks_is_seen():
    page = Tables(
        "| Room | What | Rooms | Libraries |\n| `common/` | x | | `numpy` |\n"
        "| `arena/` | x | `common/`, `train.py` (late) | |\n"
        "| File | Why | Rooms | Libraries |\n| `arena/match/ray_runner.py` | x | | `ray` (late) |\n"
    )
    assert page.rooms == ["common/", "arena/"]
    assert page.allowed["arena/"] == {"common/", "train.py"} and page.late["arena/"] == {"train.py"}
    assert page.target("arena/engine/new.py", "common.errors.UsageError") == "common/"
    assert page.target("arena/engine/new.py", "arena.rules") is None
    assert page.target("arena/engine/new.py", "requests.get") == "requests"
    assert page.files("arena/match/ray_runner.py") == ["arena/match/ray_runner.py"]
    assert "arena/match/ray_runner.py" not in page.files("arena/") != []


# --------------------------------------------------------------------------------------- what a table cannot say


def test_the_rules_can_be_imported_where_there_is_no_pygame():
    probe = "import sys; sys.modules['pygame'] = None; import Board.game_board; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not {"Board.GUI_v1_4", "torch", "grader"} & set(done.stdout.split())


def test_pygame_is_known_to_the_window_alone():
    users = {name for name, package in arrows(modules()) if package == "pygame"}
    outside = {name for name in users if not name.startswith(("tests/", "Board/window/", "bench/"))}
    assert outside == set()


def test_the_window_is_imported_only_when_it_is_opened():
    users = [name for name in modules() if any(m.startswith(WINDOW) for m in imported(name, at_import=True))]
    assert [name for name in users if not name.startswith(("tests/", "Board/window/", "Board/GUI_v1_4.py", "bench/"))] == []


def test_no_module_imports_a_program():
    """They wire packages together."""
    wired = {
        (name, package)
        for name, package in arrows(name for name in modules() if not name.startswith(("tests/", "bench/")))
        if package in PROGRAMS
    }
    assert wired == set()


def test_what_runs_inside_the_sandbox_imports_nothing_of_the_grader():
    worker = [f"grader/confinement/{name}" for name in worker_entry.SHOWN]
    # Before the sandbox is closed nothing but numpy is loaded; the student's own modules are loaded by name, after it.
    at_once = {package for _, package in arrows(worker, at_import=True)}
    assert at_once <= STANDARD | {"numpy", "grader"}
    assert {package for _, package in arrows(worker)} <= STANDARD | {"numpy", "torch", "Board", "AlphaZero", "train", "grader"}
    own = {module for name in worker for module in imported(name) if module.startswith("grader.")}
    assert {"/".join(module.split(".")[:3]) + ".py" for module in own} <= set(worker)


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
