"""A process tree always knows all its members, although it searches all processes only after one has been created."""

import os
import signal
import time

import pytest
from waiting import PATIENCE_S, eventually

from arena.engine import process
from arena.engine.guardian import MARK, read_file
from arena.engine.process import ProcessTree, has_cpu_clock, is_dead

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(not has_cpu_clock(), reason="this system does not show other programs' processes"),
]

# For each line of input, start a child in a session of its own, without any environment, and print its process id.
FORKS = 'while read line; do setsid env -i sleep 60 </dev/null >/dev/null 2>&1 & echo "$!"; done'


@pytest.fixture
def tree():
    found = ProcessTree(["/bin/sh", "-c", FORKS], env={"PATH": os.defpath})
    yield found
    found.kill()


def child_of(tree):
    os.write(tree.stdin.fileno(), b"\n")
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            return int(os.read(tree.stdout.fileno(), 100))
        except BlockingIOError:
            time.sleep(0.001)
    raise AssertionError("no answer")


def test_a_program_cannot_pass_itself_off_as_another_one():
    # A program may change the mark in its own environment. If marks were numbered, this would be the mark before its own.
    thief = 'n="${MARK##*-}"; case "$n" in *[!0-9]*) ;; *) MARK="${MARK%-*}-$((n - 1))";; esac; export MARK; exec sleep 60'
    env = {"PATH": os.defpath}
    victim = ProcessTree(["/bin/cat"], env=env)
    other = ProcessTree(["/bin/sh", "-c", thief.replace("MARK", MARK)], env=env)
    try:
        assert eventually(lambda: read_file(f"/proc/{other.popen.pid}/comm") == b"sleep\n", PATIENCE_S)
        assert other.popen.pid not in victim.members(search=True)
    finally:
        victim.kill()
        other.kill()


def settle(tree):
    for _ in range(5):
        tree.members()


def test_a_child_is_a_member_at_the_next_look_however_many_looks_found_nothing_new(tree):
    for _ in range(3):
        settle(tree)
        child = child_of(tree)
        assert child in tree.members()


def test_looks_at_an_idle_tree_do_not_read_the_whole_list(tree, monkeypatch):
    reads = []
    monkeypatch.setattr(process, "_newest", lambda: b"7")  # no new processes, whatever else runs on this machine
    settle(tree)
    monkeypatch.setattr(process, "process_ids", lambda: reads.append(1) or {tree.popen.pid})
    tree._scanned_s = time.monotonic()
    assert tree.members() == {tree.popen.pid} and reads == []
    tree._scanned_s -= process.RESCAN_S
    assert tree.members() == {tree.popen.pid} and reads == [1]


def test_where_the_system_tells_nothing_of_new_processes_every_look_is_whole(monkeypatch):
    monkeypatch.setattr(process, "_newest", lambda: b"")
    tree = ProcessTree(["/bin/sh", "-c", FORKS], env={"PATH": os.defpath})
    settle(tree)
    child = child_of(tree)
    assert child in tree.members()
    tree.kill()
    assert is_dead(child) and is_dead(tree.popen.pid)


def test_the_kill_finds_a_child_that_no_look_has_seen(tree):
    settle(tree)
    child = child_of(tree)
    tree.kill()
    assert is_dead(child)


def test_one_seen_while_it_is_being_loaded_is_known_later(monkeypatch):
    """At that moment its environment is empty, so the process seems to belong to no tree."""
    loading = [True]
    mark = process.environment_mark
    monkeypatch.setattr(process, "environment_mark", lambda pid: None if loading[0] else mark(pid))
    monkeypatch.setattr(process, "children", lambda pid: [])
    tree = ProcessTree(["/bin/sh", "-c", FORKS.replace("env -i ", "")], env={"PATH": os.defpath})
    child = child_of(tree)
    assert child not in tree.members()
    # It execs other programs first.
    assert eventually(lambda: read_file(f"/proc/{child}/cmdline").startswith(b"sleep") and mark(child), PATIENCE_S)
    loading[0] = False
    assert child in tree.members()
    tree.kill()
    assert is_dead(child)


def test_one_that_has_no_environment_for_long_is_not_waited_for(monkeypatch, tree):
    monkeypatch.setattr(process, "children", lambda pid: [])
    monkeypatch.setattr(process, "environment_mark", lambda pid: None)
    child = child_of(tree)
    tree.stop()
    assert child not in tree.members() and not is_dead(child)
    os.kill(child, signal.SIGKILL)
