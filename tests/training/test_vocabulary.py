"""One name for one thing: names and settings of the training engine, read from the source."""

import ast
import dataclasses
import re
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from training.alphago.config import ReinforceSettings, SearchSettings, StagesConfig, ValueSettings
from training.matches import MatchSettings
from training.muzero.muzero_settings import MuZeroConfig
from training.search.gumbel import GumbelSettings
from training.search.puct import PuctSettings
from training.selfplay.game_stream import SelfPlaySettings
from training.selfplay.presets import RunConfig
from training.supervised.settings import SupervisedConfig

ROOT = Path(__file__).resolve().parents[2]
# Folders with names of a test's or a student's own choice, and with what is built.
ELSEWHERE = {"docs", "build", "tests", "instructor", "AlphaZero", "results", "tmp"}
STANDS_ALONE = re.compile(r"labs/\w+/(?!checks/|trusted/)\w+/")  # what students of a lab write or are given
SETTINGS = (
    GumbelSettings,
    MatchSettings,
    MuZeroConfig,
    PuctSettings,
    ReinforceSettings,
    RunConfig,
    SearchSettings,
    SelfPlaySettings,
    StagesConfig,
    SupervisedConfig,
    ValueSettings,
)
# The settings of a stage, which is a section of another configuration -> the module of that stage.
SECTIONS = {
    ReinforceSettings: "training/alphago/reinforce.py",
    SearchSettings: "training/alphago/mixed.py",
    ValueSettings: "training/alphago/value.py",
}
# Name that is not used -> the setting's name.
SYNONYMS = {
    "n_simulations": "playouts",
    "n_playout": "playouts",
    "simulations": "playouts",
    "n_blocks": "blocks",
    "resnet_block": "blocks",
    "lr": "learning_rate",
    "learn_rate": "learning_rate",
    "buffer_size": "buffer_positions",
    "check_freq": "check_every",
}


def sources(*folders):
    """Path relative to the tree -> parsed source."""
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


def public_names(tree):
    """Classes, functions and named types on the top level of a module."""
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.Assign):  # Line = tuple[int, ...]
            yield from (target.id for target in node.targets if isinstance(target, ast.Name) and not target.id.isupper())


def test_no_class_function_or_module_of_the_training_engine_has_the_name_of_another_thing():
    names, modules = defaultdict(set), defaultdict(set)
    folders = [path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")]
    for path, tree in sources(*(folder for folder in folders if folder not in ELSEWHERE)).items():
        if STANDS_ALONE.match(path):
            continue
        modules[Path(path).stem].add(path)
        for name in public_names(tree):
            names[name].add(path)
    shared = {
        name: paths
        for found in (names, modules)
        for name, paths in found.items()
        if len(paths) > 1 and not name.startswith("_") and name != "main" and any(p.startswith("training/") for p in paths)
    }
    assert shared == {}


def attributes_read(tree, owners):
    """Names of the attributes that are read from a name or an attribute such as `config` or `self._settings`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            owner = getattr(node.value, "attr", getattr(node.value, "id", ""))
            if owner.lstrip("_") in owners:
                yield node.attr


def settings_read(kind, files):
    """Names that are read from the settings where their class is known, or in methods of the class that do not check them."""
    read = set()
    for path, tree in files.items():
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
        definitions = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind.__name__]
        if kind.__name__ in imported or definitions or path == SECTIONS.get(kind):
            read.update(attributes_read(tree, {"config", "settings"}))
        for part in [part for node in definitions for part in node.body]:
            if isinstance(part, ast.FunctionDef) and part.name != "__post_init__":
                read.update(attributes_read(part, {"self"}))
    return read


@pytest.mark.parametrize("kind", SETTINGS, ids=lambda kind: kind.__name__)
def test_every_setting_is_read(kind):
    assert {field.name for field in dataclasses.fields(kind)} - settings_read(kind, sources("training")) == set()


def test_a_setting_that_only_another_class_has_in_use_is_seen():
    files = {path: tree for path, tree in sources("training").items() if not path.startswith("training/muzero/")}
    assert {field.name for field in dataclasses.fields(MuZeroConfig)} & settings_read(MuZeroConfig, files) == set()


@pytest.mark.parametrize("kind", SETTINGS, ids=lambda kind: kind.__name__)
def test_a_setting_has_its_usual_name(kind):
    assert {field.name for field in dataclasses.fields(kind)} & set(SYNONYMS) == set()


def test_settings_in_files_have_their_usual_names():
    paths = sorted((ROOT / "training" / "configs").glob("*.toml"))
    assert paths
    for path in paths:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        keys = set(table).union(*(section for section in table.values() if isinstance(section, dict)))
        assert keys & set(SYNONYMS) == set(), path.name
