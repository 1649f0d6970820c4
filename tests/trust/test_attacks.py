"""Attacks on the grader: each gains no point over the submission that it is made from, leaves nothing, and hurts no neighbour.

An attack is a folder of `instructor/submissions/attacks/`: files laid over a base (the stubs, the reference, or a plain
engine), and `expected.toml` with what it tries, what stops it, the checks that are run, those that must be 0, and those that
may be left to a person (`doubt`). An attack that the confinement stops, whatever the checks say, is `confined`; `.ci/run` lets
it loose on several kinds of machine. Where a budget stops it, `seconds` are what a check and all of them get. A quick part runs
always, all of them with TRUST=all in the environment.

TRUST_LEVEL=landlock (or another level) forces a weaker confinement and lets loose all attacks but those that would harm more
than their own user there (`needs`): what fails then is what that level does not stop. Never as root.
"""

import contextlib
import hashlib
import io
import os
import shutil
import socket
import stat
import tarfile
import tempfile
import time
import tomllib
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from checks_here import run_checks_here
from waiting import eventually

from arena.view.page import script
from common import weights as weights_files
from grader.assignment_file import load_assignment
from grader.confinement.sandbox import LEVELS, WITH_NAMESPACES, find_sandbox
from grader.judge.support import drawn_weights
from grader.judge.trusted import network as trusted_network
from grader.judge.trusted import test_training
from grader.judge.trusted.test_training import correlation
from grader.pipeline import grading
from grader.pipeline.listeners import Lines
from grader.pipeline.order import Order
from grader.pipeline.results import AWAITING_MARKS
from grader.screen import Screen

ROOT = Path(__file__).resolve().parents[2]
SUBMISSIONS = ROOT / "instructor" / "submissions" / "attacks"
REFERENCE = ROOT / "instructor" / "reference"
ALL = os.environ.get("TRUST") == "all"
LEVEL = os.environ.get("TRUST_LEVEL")
SANDBOX = find_sandbox(LEVEL)
ATTACKS = sorted(path.parent.name for path in SUBMISSIONS.glob("*/expected.toml"))
PLACES = [Path(place) for place in ("/", "/tmp", "/var/tmp", "/dev/shm", "/dev", str(ROOT))]
# What the attacks of this run leave behind, beside those of another on the same machine: text in their files -> its own text.
MARKS = {text: f"{text}{os.getpid():07}" for text in ("gomoku-attack", "4711.75")}
PORT = "27011"  # as the attacks name the port of `listening`
SEED = 7
TABLE = []  # (name, stopped by, points gained, leftovers, what else was not stopped)

pytestmark = pytest.mark.skipif(
    SANDBOX.level not in WITH_NAMESPACES and (LEVEL is None or os.geteuid() == 0),
    reason="attacks are let loose only where all holds",
)


def description(name):
    return tomllib.loads(personal((SUBMISSIONS / name / "expected.toml").read_text(encoding="utf-8")))


def personal(text, **others):
    """The text of a file of an attack with the marks of this run."""
    for old, new in {**MARKS, **others}.items():
        text = text.replace(old, new)
    return text


CHOSEN = [name for name in ATTACKS if ALL or LEVEL or description(name).get("quick")]
CONFINED = [pytest.param(name, marks=pytest.mark.machine) if description(name).get("confined") else name for name in CHOSEN]


@pytest.fixture(scope="module", autouse=True)
def table(request):
    """The table of all that was tried, whatever pytest captures."""
    yield
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture else contextlib.nullcontext():
        width = max((len(row[0]) for row in TABLE), default=0)
        print(f"\nlevel {SANDBOX.level}\n{'attack':{width}}  gained  leftovers  stopped by")
        for name, stopped_by, gained, left, faults in TABLE:
            print(f"{name:{width}}  {gained:6g}  {len(left):9}  {f'NOT: {faults}' if faults else stopped_by}")


@pytest.fixture(scope="module")
def listening():
    """A service of this machine that no attack may reach."""
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as server:
        server.setblocking(False)
        yield server


def lay_base(kind, folder):
    """The files of a base submission."""
    if kind == "reference":
        shutil.copytree(REFERENCE, folder)
        return
    shutil.copytree(ROOT / "AlphaZero", folder / "AlphaZero", ignore=shutil.ignore_patterns("__pycache__"))
    if kind == "engine":
        shutil.copytree(SUBMISSIONS / "bases" / "engine", folder, dirs_exist_ok=True)


def lay_attack(name, folder, port):
    """The base with the attack over it; returns what is handed in, a folder or an archive."""
    told = description(name)
    lay_base(told["base"], folder)
    for place in told.get("without", []):
        shutil.rmtree(folder / place)
    for old, new in told.get("renamed", {}).items():
        (folder / old).rename(folder / new)
    shutil.copytree(SUBMISSIONS / name, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("expected.toml"))
    for paste in told.get("pasted", []):
        text, target = (ROOT / paste["from"]).read_text(encoding="utf-8"), folder / paste["to"]
        for old, new in paste["changed"]:
            assert old in text, f"{paste['from']} does not hold {old!r}"
            text = text.replace(old, new)
        target.parent.mkdir(parents=True, exist_ok=True)
        own = SUBMISSIONS / name / paste["to"]
        target.write_text(text + (own.read_text(encoding="utf-8") if own.is_file() else ""), encoding="utf-8")
    for path in filter(Path.is_file, folder.rglob("*")):
        text = path.read_bytes().decode("latin-1")
        if (own := personal(text, **{PORT: str(port)})) != text:
            path.write_bytes(own.encode("latin-1"))
    return pack(folder, told["archive"]) if "archive" in told else folder


def pack(folder, archive):
    """An archive of the folder's files and the attack's members, written one by one as no packer would."""
    path = folder.with_name(folder.name + archive["kind"])
    files = [({"name": p.relative_to(folder).as_posix()}, p.read_bytes()) for p in sorted(folder.rglob("*")) if p.is_file()]
    members = [(member, content_of(member)) for member in archive["members"]]
    named = {member["name"] for member, _ in members}
    files = [file for file in files if file[0]["name"] not in named]
    if archive["kind"] == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of doubled names
            for member, content in files + members:
                out.writestr(member["name"], content)
        return path
    kinds = {"device": tarfile.CHRTYPE, "pipe": tarfile.FIFOTYPE}
    with tarfile.open(path, "w") as out:
        for member, content in files + members:
            entry = tarfile.TarInfo(member["name"])
            entry.size = len(content)
            entry.type = kinds.get(member.get("kind", ""), tarfile.REGTYPE)
            if link := member.get("link") or member.get("hardlink"):
                entry.type, entry.linkname = (tarfile.SYMTYPE if "link" in member else tarfile.LNKTYPE), link
            out.addfile(entry, io.BytesIO(content))
    return path


RAN = Path("/tmp", f"{MARKS['gomoku-attack']}-pickle")


class Bomb:
    """What a pickle runs when it is loaded without care."""

    def __reduce__(self):
        return os.system, (f"touch {RAN}",)


def content_of(member):
    if member.get("pickle"):
        out = io.BytesIO()
        torch.save(Bomb(), out)
        return out.getvalue()
    return bytes(member.get("zeros_mib", 0) << 20) or member.get("text", "").encode()


def grade(path, checks, out, monkeypatch, seconds=None):
    """Results of some checks by the profile smoke, with the lines that were told meanwhile.

    Args:
        seconds: for a check of any kind, and for all of them, in place of the profile's.
    """
    whole = load_assignment()
    assignment = replace(whole, checks=tuple(check for check in whole.checks if check.id in checks))
    assert len(assignment.checks) == len(checks)
    if seconds:
        smoke = whole.profiles["smoke"]
        minutes, budget = (each / 60 for each in seconds)
        smoke = replace(smoke, check_minutes=minutes, budget_minutes=budget, match=replace(smoke.match, minutes=minutes))
        assignment = replace(assignment, profiles={**whole.profiles, "smoke": smoke})
    elif not ALL:
        run_checks_here(monkeypatch)
    lines = []
    order = Order(assignment, "smoke", out, SANDBOX, seed=SEED)
    return grading.grade(path, order, listener=Lines(lines.append)).to_json(), lines


def processes(temporary):
    """Those that run what lies in the test's folder, and those that attacks leave behind."""
    found, marks = [], [os.fsencode(mark) for mark in (*MARKS.values(), temporary)]
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = entry.read_bytes()
            if entry.parent.name != str(os.getpid()) and any(mark in line for mark in marks):
                found.append(f"process {entry.parent.name} {line[:80]!r}")
    return found


def leftovers(before, temporary):
    """What was not there before: processes, files, a reached service."""
    eventually(lambda: set(processes(temporary)) <= before["processes"])
    return sorted(set(processes(temporary)) - before["processes"]) + sorted(files_outside(temporary) - before["files"])


def files_outside(temporary):
    wanted = (MARKS["gomoku-attack"], "grader-scratch-", "grader-build-")
    attacks = {str(place / name) for place in PLACES for name in os.listdir(place) if name.startswith(wanted[0])}
    return attacks | {str(path) for path in temporary.iterdir() if path.name.startswith(wanted)}


def digest(folder):
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        total.update(f"{path} {path.is_file() and path.read_bytes()}".encode())
    return total.hexdigest()


_base_points = {}


def base_points(kind, checks, tmp_path, monkeypatch):
    """What the base gets in these checks: nothing for stubs (tests/grader/test_grading.py), all for the reference."""
    if kind == "stubs":
        return 0.0
    if kind == "reference":
        return float("inf")
    key = (kind, tuple(checks))
    if key not in _base_points:
        lay_base(kind, tmp_path / "in" / "base")
        _base_points[key] = grade(tmp_path / "in" / "base", checks, tmp_path / "out", monkeypatch)[0]["points"]
    return _base_points[key]


@pytest.mark.parametrize("name", CONFINED)
def test_an_attack_gains_nothing_and_leaves_nothing(name, tmp_path, monkeypatch, listening, engines):
    told = description(name)
    if LEVELS.index(SANDBOX.level) > LEVELS.index(told.get("needs", LEVELS[-1])):
        TABLE.append((name, f"not let loose: it needs {told['needs']}", 0.0, [], ""))
        pytest.skip(f"it needs {told['needs']}")
    neighbour = tmp_path / "out" / "neighbour"
    neighbour.mkdir(parents=True)
    for file in ("results.json", "verdicts.jsonl", "run.json", "gradebook.db"):
        (neighbour / file).write_text('{"points": 41, "key": "SECRET"}')
    monkeypatch.setenv("GRADER_KEY", "SECRET")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    base = base_points(told["base"], told["checks"], tmp_path, monkeypatch)
    path = lay_attack(name, tmp_path / "in" / name, listening.getsockname()[1])
    before = {"processes": set(processes(tmp_path)), "files": files_outside(tmp_path), "neighbour": digest(neighbour)}
    started = time.monotonic()
    results, lines = grade(path, told["checks"], tmp_path / "out", monkeypatch, told.get("seconds"))
    seconds = time.monotonic() - started

    left = leftovers(before, tmp_path)
    with contextlib.suppress(BlockingIOError):
        listening.accept()[0].close()
        left.append("the grader's machine was reached")
    points = {check["id"]: check["points"] for check in results["checks"]}
    zero = told.get("zero", told["checks"] if told["base"] == "stubs" else [])
    gained = results["points"] - base if base != float("inf") else sum(points[check] for check in zero)
    page = (tmp_path / "out" / name / "report.html").read_text(encoding="utf-8")
    said = [(check["id"], check["status"], check["message"]) for check in results["checks"]]
    faults = {
        "gained": max(0.0, gained),
        "points that must be 0": {check: points[check] for check in zero if points[check]},
        "left behind": left,
        "neighbours altered": digest(neighbour) != before["neighbour"],
        "told a secret": "SECRET" in page + (tmp_path / "out" / name / "results.json").read_text(encoding="utf-8"),
        "could not grade": sorted(set(results["could_not_grade"]) - set(told.get("doubt", []))),
        "does not say": ""
        if all(told.get("says", "") in m for _, status, m in said if status != AWAITING_MARKS)
        else told["says"],
    }
    faults = {fault: seen for fault, seen in faults.items() if seen}
    stopped_by = f"{told['stopped_by']} (after {seconds:.0f} s)"
    TABLE.append((name, stopped_by, max(0.0, gained), left, ", ".join(faults)))
    assert faults == {}, said
    assert results["sandbox"]["level"] == SANDBOX.level
    page = page.replace(f"<script>{script()}</script>", "")  # the viewer's own
    assert not any(sign in page.lower() for sign in ("<script", "<img", "\x1b", "\x9b", "\x07"))
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        screen = Screen()
        for line in [*lines, results["submission"]]:
            screen(line)
    assert all(sign.isprintable() or sign == "\n" for sign in shown.getvalue())


def test_weights_that_run_code_are_refused_and_not_run(tmp_path):
    path = tmp_path / "weights.model"
    path.write_bytes(content_of({"pickle": True}))
    for _ in range(2):
        with pytest.raises(ValueError, match="expected a bare state_dict"):
            weights_files.load_weights(path)
    assert not RAN.exists()


def test_weights_over_the_cap_are_refused_unread(tmp_path, monkeypatch):
    monkeypatch.setattr(weights_files, "MAX_WEIGHTS_BYTES", 1 << 16)
    path = tmp_path / "weights.model"
    torch.save({"x": torch.zeros(1 << 20, dtype=torch.uint8)}, path)
    with pytest.raises(ValueError, match="the file is larger"):
        weights_files.load_weights(path)


class Trained:
    """A worker that answers with the outputs of some weights."""

    def __init__(self, weights):
        self.weights = weights

    def call(self, _, states):
        log_probs, values = trusted_network.forward(self.weights, states)
        return np.exp(log_probs), values


def test_published_weights_are_no_training_of_others_and_moved_ones_are():
    from random import Random

    beginning = drawn_weights.fresh_weights(3, 3, 1, 1)
    published = weights_files.load_weights(ROOT / "model" / "3_3_3.model")
    assert "do not resemble" in test_training._doubt(Trained(published), beginning, published, Random(1))
    numbers = np.random.default_rng(1)
    moved = {key: (w + 0.5 * w.std() * numbers.normal(size=w.shape)).astype(w.dtype) for key, w in beginning.items()}
    assert test_training._doubt(Trained(moved), beginning, moved, Random(1)) == ""
    assert "outputs are not those" in test_training._doubt(Trained(beginning), beginning, moved, Random(1))
    assert "layers are not those" in test_training._doubt(Trained(moved), beginning, {"x": np.zeros(3)}, Random(1))
    assert abs(correlation(beginning["resnet.0.0.weight"], published["resnet.0.0.weight"])) < 0.05


def test_every_attack_says_what_it_tries_and_names_checks_that_there_are():
    known = {check.id for check in load_assignment().checks}
    assert len(ATTACKS) >= 47 and CHOSEN
    for name in ATTACKS:
        told = description(name)
        assert told["tries"] and told["stopped_by"] and told["base"] in ("stubs", "reference", "engine")
        assert set(told["checks"]) <= known and set(told.get("zero", [])) <= set(told["checks"])
    assert stat.S_ISDIR((SUBMISSIONS / "bases" / "engine").stat().st_mode)
