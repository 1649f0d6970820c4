"""Fuzzed archives and fuzzed replies of a worker: one sentence or a value, in time, and no file outside.

A hundred of each run always, a thousand with TRUST=all in the environment.
"""

import contextlib
import importlib
import inspect
import io
import json
import os
import random
import tarfile
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest

from common.errors import UsageError
from grader.assignment_file import load_assignment
from grader.confinement.plain import decode, encode
from grader.confinement.replies import ARRAY, FAULT, REPLIES, TREE, Either, ListOf, MapOf, Plain, Record, Row
from grader.confinement.sandbox import ProcessLimits, find_sandbox
from grader.confinement.worker_client import Worker
from grader.errors import CouldNotGrade, StudentFault
from grader.judge.support.ruling import Ruling
from grader.judge.support.which_oracle import find_oracle
from grader.pipeline.submission import read_submission
from grader.pipeline.workspace import build_workspace

COUNT = 1000 if os.environ.get("TRUST") == "all" else 100
SEED = 20
LIMIT_S = 20.0  # for one of them on a busy machine; most take a few milliseconds
NAMES = [
    "AlphaZero/mcts_pure.py",
    "Minimax/engine.cpp",
    "submission.toml",
    "../../fuzz-slip.py",
    "/tmp/fuzz-slip.py",
    "AlphaZero/../../fuzz-slip.py",
    "C:\\fuzz-slip.py",
    "a/" * 40 + "AlphaZero/x.py",
    "Minimax/" + "n" * 300 + ".cpp",
    "AlphaZero/\u202e\x1b[2J.py",
    "ALPHAZERO/MCTS_PURE.py",
    "AlphaZero/mcts_pure.py/below.py",
    "Minimax",
    "",
    ".",
    "AlphaZero/é.py",
    "AlphaZero/e\u0301.py",
]
KINDS = [tarfile.REGTYPE, tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]


def written(numbers, path):
    """An archive with members of all kinds and hostile names."""
    names = numbers.choices(NAMES, k=numbers.randrange(1, 12))
    contents = [numbers.randbytes(numbers.choice((0, 1, 30, 3000))) for _ in names]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", numbers.choice((0, 8, 8, 12, 14))) as out, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, content in zip(names, contents, strict=True):
                entry = zipfile.ZipInfo(name.replace("\0", ""))
                entry.external_attr = numbers.choice((0, 0o100644, 0o120777, 0o020666, 0o010644)) << 16
                out.writestr(entry, content)
        return
    mode = {".tar": "w", ".gz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}[path.suffix]
    layout = numbers.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(path, mode, format=layout) as out:
        for name, content in zip(names, contents, strict=True):
            entry = tarfile.TarInfo(name)
            entry.type = numbers.choice(KINDS)
            entry.linkname = numbers.choice(("", "/etc/passwd", "../../x", "AlphaZero"))
            entry.size = len(content) if entry.type == tarfile.REGTYPE else 0
            try:
                out.addfile(entry, io.BytesIO(content))
            except (ValueError, UnicodeEncodeError):
                continue  # what this layout cannot write


def damaged(numbers, content):
    """The bytes with some changed, cut, doubled or put elsewhere."""
    data = bytearray(content)
    for _ in range(numbers.choice((0, 1, 1, 2, 8, 40))):
        if not data:
            break
        at = numbers.randrange(len(data))
        way = numbers.randrange(5)
        if way == 0:
            data[at] = numbers.randrange(256)
        elif way == 1:
            data[at : at + 4] = numbers.choice((b"\xff\xff\xff\xff", b"\0\0\0\0", b"\x7f\xff\xff\xff", b"7777"))
        elif way == 2:
            del data[at : at + numbers.randrange(1, 600)]
        elif way == 3:
            data[at:at] = data[at : at + numbers.randrange(1, 600)]
        else:
            del data[at:]
    return bytes(data)


def test_fuzzed_archives_are_read_or_refused_in_a_sentence_and_write_nothing(tmp_path):
    assignment, numbers = load_assignment(), random.Random(SEED)
    outside = sorted(path for path in Path("/tmp").iterdir() if path.name.startswith("fuzz"))
    read, refusals = 0, []
    for i in range(COUNT):
        folder = tmp_path / "in" / str(i)
        folder.mkdir(parents=True)
        path = folder / numbers.choice(("work.zip", "work.zip", "work.tar", "work.tar.gz", "work.tar.xz", "work.tar.bz2"))
        written(numbers, path)
        path.write_bytes(damaged(numbers, path.read_bytes()))
        started = time.monotonic()
        try:
            submission = read_submission(path, assignment)
            workspace = build_workspace(assignment, submission, folder / "workspace")
            assert not any(file.is_symlink() for file in workspace.rglob("*"))
            read += 1
        except UsageError as error:
            refusals.append(str(error))
        assert time.monotonic() - started < LIMIT_S
        assert {file.name for file in folder.iterdir()} <= {path.name, "workspace"}
    assert read > COUNT // 10 and len(refusals) > COUNT // 10
    assert not any("\n" in refusal for refusal in refusals)
    assert sorted(path for path in Path("/tmp").iterdir() if path.name.startswith("fuzz")) == outside
    assert {path.name for path in tmp_path.iterdir()} == {"in"}
    assert {path.name for path in (tmp_path / "in").iterdir()} == {str(i) for i in range(COUNT)}


def some_value(numbers, depth=0):
    """Anything that JSON holds, and what stands for arrays."""
    ways = [
        lambda: numbers.choice(
            (None, True, False, 0, -1, 1.5, 10**30, float("nan"), float("inf"), "", "x\x1b\u202e", "\ud800")
        ),
        lambda: encode(
            np.array([numbers.random() for _ in range(numbers.randrange(4))], dtype=numbers.choice((">f8", "f4", "i8", "?")))
        ),
        lambda: {
            "__array__": [numbers.choice(("float64", "O", "f8,(", "float16")), [numbers.choice((0, 1, -1, 2**40))], "AAAA"]
        },
        lambda: {"__array__": some_value(numbers, depth + 1)} if depth < 4 else 0,
        lambda: [some_value(numbers, depth + 1) for _ in range(numbers.randrange(4))] if depth < 4 else [],
        lambda: {numbers.choice(("move", "tree", "visits", "x")): some_value(numbers, depth + 1)} if depth < 4 else {},
    ]
    return numbers.choice(ways)()


def like(numbers, layout):
    """A value of the layout, with something else here and there."""
    if numbers.random() < 0.1:
        return some_value(numbers)
    if layout == TREE and numbers.random() < 0.7:
        return tree(numbers)
    match layout:
        case MapOf(value):
            return {f"k{i}": like(numbers, value) for i in range(numbers.randrange(3))}
        case Record(fields):
            return {key: like(numbers, inner) for key, inner in fields.items()}
        case ListOf(item):
            return [like(numbers, item) for _ in range(numbers.randrange(3))]
        case Either(layouts):
            return like(numbers, numbers.choice(layouts))
        case Row(items):
            return [like(numbers, inner) for inner in items]
        case Plain(types) if ARRAY.types[0] in types:
            entries = [numbers.choice((-1, 0, 3, 2.5, float("nan"), 1e308)) for _ in range(numbers.randrange(5))]
            return encode(np.array(entries))
    return numbers.choice((1, 0, -7, 2.5, True, None, 10**25))


def tree(numbers):
    """Arrays that could be a search tree, with moves and values that need not."""
    size = numbers.randrange(1, 30)
    parts = {
        "parent": np.array(
            [-1, *sorted(numbers.randrange(i) for i in range(1, size))], dtype=numbers.choice(("i8", "i8", "f8"))
        ),
        "move": np.array([-1] + [numbers.randrange(-1, 26) for _ in range(1, size)]),
        "visits": np.array([numbers.choice((0, 1, 2, 200, 300, -5)) for _ in range(size)], dtype=numbers.choice(("f8", "i8"))),
        "value": np.array([numbers.choice((0.0, 1.0, -1.0, float("nan"), 1e300)) for _ in range(size)]),
        "prior": np.array([numbers.random() for _ in range(size)]),
    }
    return {name: encode(part) for name, part in parts.items()}


def fuzzed_line(numbers, nonce, operation):
    reply = {"nonce": nonce if numbers.random() < 0.9 else "0", "value": like(numbers, REPLIES[operation])}
    if numbers.random() < 0.1:
        reply = {"nonce": nonce, "fault": like(numbers, FAULT)}
    if numbers.random() < 0.05:
        reply["points"] = 100
    line = json.dumps(reply).encode() + b"\n"
    return damaged(numbers, line) if numbers.random() < 0.2 else line


def test_fuzzed_replies_are_values_of_their_layout_or_the_students_fault(tmp_path, monkeypatch):
    numbers = random.Random(SEED)
    asked = {}
    monkeypatch.setattr(Worker, "_start", lambda _: None)
    monkeypatch.setattr(
        Worker, "_exchange", lambda _, request, __: fuzzed_line(numbers, json.loads(request)["nonce"], asked["operation"])
    )
    worker = Worker(tmp_path, find_sandbox(), ProcessLimits(64, 1, 1, 1))
    values, sentences = 0, []
    for _ in range(COUNT):
        asked["operation"] = numbers.choice(sorted(REPLIES))
        started = time.monotonic()
        try:
            worker.call(asked["operation"])
            values += 1
        except StudentFault as fault:
            sentences.append(str(fault))
        assert time.monotonic() - started < LIMIT_S
    assert values > COUNT // 20 and len(sentences) > COUNT // 20
    assert all(sentence.isprintable() and sentence for sentence in sentences)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "module",
    [
        "test_mcts_pure",
        "test_mcts_alphazero",
        "test_noise",
        "test_temperature",
        "test_network",
        "test_train_step",
        "test_overfits",
    ],
)
def test_checks_judge_fuzzed_values_without_a_fault_of_their_own(module):
    """Whatever values a worker gives, a check fails or passes; only updates that were not tried could not be graded."""
    numbers, oracle = random.Random(f"{SEED}{module}"), find_oracle()
    checks = importlib.import_module(f"grader.judge.checks.{module}")
    tests = [item for name, item in vars(checks).items() if name.startswith("test_") and inspect.isfunction(item)]
    answered = []

    class Fuzzed:
        def call(self, operation, **_):
            for _ in range(50):
                with contextlib.suppress(ValueError):
                    value = decode(like(numbers, REPLIES[operation]))
                    if REPLIES[operation].fits(value):
                        answered.append(operation)
                        return value
            raise StudentFault("none")

        def close(self):
            pass

    for _ in range(COUNT // 10):
        for test in tests:
            rng = random.Random(numbers.random())
            given = {
                "worker": Fuzzed(),
                "ruling": Ruling(
                    shares={name: share for shares in load_assignment().shares.values() for name, share in shares.items()}
                ),
                "rng": rng,
                "run": None,
                "oracle": oracle,
            }
            if "batch" in inspect.signature(test).parameters:
                given["batch"] = checks.ask_for_batch(rng, oracle)
            try:
                test(**{name: given[name] for name in inspect.signature(test).parameters})
            except StudentFault as fault:
                json.dumps(fault.boards)
            except CouldNotGrade:
                assert answered[-1] == "advance"
            json.dumps(given["ruling"].evidence)  # what a verdict records
    assert tests and len(answered) > len(tests) * COUNT // 20
