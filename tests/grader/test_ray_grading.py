"""A class graded on a Ray cluster has the marks of one machine, repeats nothing after a lost node, and refuses odd nodes."""

import errno
import importlib.util
import json
import os
import tempfile
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from common.files import has_no_room
from grader.__main__ import main
from grader.pipeline import ray_grading
from grader.pipeline.results import read_results

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")


def grade(out, *paths, cluster=None):
    where = ["--ray-address", cluster.address] if cluster else []
    how = ["--only", "mcts_pure", "--profile", "smoke", "--seed", "3"]
    return main(["grade", *map(str, paths), *how, "--out", str(out), *where])


def outcomes(folder):
    return {verdict.id: (verdict.status, verdict.points) for verdict in read_results(folder / "results.json").program}


def places():
    return Path(tempfile.gettempdir()).glob(f"{ray_grading.PLACE}*")


def test_folders_of_killed_runs_are_removed_and_those_in_use_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    abandoned, new = (tmp_path / f"{ray_grading.PLACE}{name}" for name in ("abandoned", "new"))
    for path in (abandoned, new):
        (path / "run").mkdir(parents=True)
    long_ago = time.time() - 2 * ray_grading.ABANDONED_S
    os.utime(abandoned, (long_ago, long_ago))
    with ray_grading._place_of_a_run() as place:
        assert place.is_dir() and not abandoned.exists() and new.is_dir()
        os.utime(place, (long_ago, long_ago))
        with ray_grading._place_of_a_run() as other:
            assert place.is_dir() and other != place
    assert not place.exists() and not other.exists()


def test_a_run_has_its_folder_where_the_file_system_has_no_locks(tmp_path, monkeypatch):
    def refused(*_):
        raise OSError(errno.EBADF, "Bad file descriptor")  # as NFS says of a folder

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("fcntl.flock", refused)
    abandoned = tmp_path / f"{ray_grading.PLACE}abandoned"
    abandoned.mkdir()
    os.utime(abandoned, (0, 0))
    with ray_grading._place_of_a_run() as place:
        assert place.is_dir() and abandoned.is_dir()
    assert not place.exists()


@needs_ray
def test_a_class_with_a_lost_node_has_the_verdicts_of_one_machine_repeats_none_and_names_the_nodes(
    cluster, submission, tmp_path
):
    doomed = cluster.add_node(num_cpus=1)  # the third node, so that it grades one of three
    class_ = [submission("ada"), submission("bob", {"AlphaZero/mcts_pure.py": "class MCTS: pass\n"}), submission("cem")]
    verdicts = {path.name: tmp_path / f"there/{path.name}/verdicts.jsonl" for path in class_}
    lost = []
    over = threading.Event()

    def lose_a_node():
        while not over.wait(0.1) and not lost:
            if any(path.exists() and path.read_bytes().count(b"\n") >= 1 for path in verdicts.values()):
                lost.append(doomed)
                cluster.remove_node(doomed, allow_graceful=False)

    before = set(places())
    losing = threading.Thread(target=lose_a_node)
    losing.start()
    try:
        assert grade(tmp_path / "there", *class_, cluster=cluster) == 0
    finally:
        over.set()
        losing.join()
    assert lost == [doomed]
    assert len(set(places()) - before) <= 1, "only the lost node leaves its folder"
    for name, path in verdicts.items():
        decided = Counter(json.loads(line)["id"] for line in path.read_text(encoding="utf-8").splitlines())
        assert set(decided.values()) == {1} and len(decided) == 4, name
        about = read_results(path.with_name("results.json")).environment
        assert "node " in about["node"] and float(about["speed"]) > 0
    assert grade(tmp_path / "here", *class_[:2]) == 0
    for name in ("ada", "bob"):
        assert outcomes(tmp_path / "there" / name) == outcomes(tmp_path / "here" / name)
    assert outcomes(tmp_path / "there/ada") == outcomes(tmp_path / "there/cem") != outcomes(tmp_path / "there/bob")


@needs_ray
@pytest.mark.thorough("runs go on in the same way on one machine")
def test_a_run_whose_node_got_the_graders_files_again_goes_on_with_its_verdicts(cluster, submission, tmp_path, capsys):
    verdicts, over, replaced = tmp_path / "out/ada/verdicts.jsonl", threading.Event(), []

    def replace_the_files():  # as Ray does it when a node is started on the same machine
        while not over.wait(0.05) and not replaced:
            if verdicts.exists() and verdicts.read_bytes().count(b"\n") >= 1:
                for path in Path(cluster.head_node.get_session_dir_path()).rglob("grader/pipeline/ray_grading.py"):
                    new = path.with_suffix(".new")
                    new.write_bytes(path.read_bytes())
                    replaced.append(new.replace(path))

    replacing = threading.Thread(target=replace_the_files)
    replacing.start()
    try:
        assert grade(tmp_path / "out", submission("ada"), cluster=cluster) == 0
    finally:
        over.set()
        replacing.join()
    assert replaced
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("ada: a node that was started on the same machine interrupted it; it goes on.") == 1
    decided = [json.loads(line)["id"] for line in verdicts.read_text(encoding="utf-8").splitlines()]
    assert len(set(decided)) == len(decided) == 4


@needs_ray
def test_a_node_with_other_versions_and_too_slow_is_refused_before_anything_is_graded(
    cluster, submission, tmp_path, monkeypatch, capsys
):
    real = ray_grading.Machine.here
    other = {"versions": {"torch": "1.0", "python": "3", "numpy": "2", "compiler": "9"}, "speed": 1e9}
    monkeypatch.setattr(ray_grading.Machine, "here", lambda *values: replace(real(*values), **other))
    assert grade(tmp_path / "out", submission("ada"), cluster=cluster) == 2
    err = capsys.readouterr().err
    assert err.startswith("grader: the node ") and "ray stop" in err and err.count("\n") == 1
    assert " instead of 1.0; " in err and "; 0% of the speed of this machine, where at least 50% is needed" in err
    assert not (tmp_path / "out/ada").exists()


def after_the_start(monkeypatch, change):
    """Let `change(checks)` act on the RayChecks of the next command once the nodes have been examined."""
    real = ray_grading.RayChecks.__init__

    def start(self, *arguments):
        real(self, *arguments)
        change(self)

    monkeypatch.setattr(ray_grading.RayChecks, "__init__", start)


@needs_ray
@pytest.mark.thorough("a node of the beginning is examined in the same way")
def test_a_node_that_joins_later_is_examined_before_its_first_unit(cluster, submission, tmp_path, monkeypatch):
    after_the_start(monkeypatch, lambda checks: checks.machines.clear())
    assert grade(tmp_path / "out", submission("ada"), cluster=cluster) == 0
    about = read_results(tmp_path / "out/ada/results.json").environment
    assert "node " in about["node"] and float(about["speed"]) > 0


@needs_ray
@pytest.mark.thorough("a node that falls short at the beginning is examined in the same way")
def test_a_node_that_joins_later_and_falls_short_gets_no_unit_and_is_named(cluster, submission, tmp_path, monkeypatch, capsys):
    known = []

    def join(checks):
        newcomer = sorted(checks.machines)[0]
        del checks.machines[newcomer]
        known.extend(machine.name for machine in checks.machines.values())
        here = checks._here
        checks._here = replace(here, versions={**here.versions, "torch": "1.0"})  # so all that is examined from now on differs

    after_the_start(monkeypatch, join)
    names = ("ada", "bob")
    assert grade(tmp_path / "out", *map(submission, names), cluster=cluster) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.count("It joined after the start and gets no submissions") == 1 and "instead of 1.0" in said
    nodes = {read_results(tmp_path / "out" / name / "results.json").environment["node"] for name in names}
    assert nodes == set(known) and len(known) == 1


@needs_ray
def test_a_full_disk_of_a_node_is_no_fault_of_the_submission(monkeypatch):
    from ray import exceptions

    def followed(*_):
        raise exceptions.RayTaskError("checks", "", OSError(errno.ENOSPC, "No space left")).as_instanceof_cause()

    checks = object.__new__(ray_grading.RayChecks)
    checks._ray = SimpleNamespace(exceptions=exceptions, cancel=lambda *_, **__: None)
    monkeypatch.setattr(checks, "_start", lambda _: None)
    monkeypatch.setattr(checks, "_followed", followed)
    with pytest.raises(OSError, match="No space left") as raised:
        checks(None, None, None)
    assert has_no_room(raised.value)


@needs_ray
def test_an_address_where_nothing_answers_is_one_sentence(submission, tmp_path, capsys):
    nowhere = type("Nowhere", (), {"address": "127.0.0.1:1"})
    assert grade(tmp_path / "out", submission("ada"), cluster=nowhere) == 2
    err = capsys.readouterr().err
    assert err.startswith("grader: expected a Ray cluster at 127.0.0.1:1; nothing answers there") and err.count("\n") == 1
