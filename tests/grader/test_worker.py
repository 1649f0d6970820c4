"""A worker answers with plain values; whatever else a student's Python does is a fault in one sentence, within the limit.

The student's module here is a search that takes the first free point, with a line of mischief before it answers.
"""

import json
import os
import platform
import sys
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from odd_workers import LIMITS, LINE, MANY, MODULE, PLAYER, POSITION, ROOT, choose, fault
from waiting import eventually

from grader.confinement import worker_client
from grader.confinement.blame import is_ours
from grader.confinement.plain import encode
from grader.confinement.replies import REPLIES
from grader.confinement.sandbox import CONFINE, WITH_NAMESPACES, find_sandbox
from grader.confinement.worker import OPERATIONS
from grader.confinement.worker_client import Worker
from grader.errors import CouldNotGrade, StudentFault


def processes_with(word):
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += [entry.parent.name] if word in entry.read_bytes() else []
        except OSError:
            continue
    return found


NETWORK_THAT_REMEMBERS = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.BatchNorm1d(2)

    def forward(self, states):
        self.last = self.layer(states)
        return self.last, self.last

class PolicyValueNet:
    def __init__(self, *_, **__):
        self.model = Model().eval()

    def policy_value(self, states, *_):
        return [heads.detach().numpy() for heads in self.model(torch.as_tensor(states))]
"""


# ----------------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("train_mode", [False, True])
def test_a_network_that_remembers_an_activation_is_evaluated_and_stays_as_it_is(worker, train_mode):
    asked = worker(more={"AlphaZero/policy_value_net_torch.py": NETWORK_THAT_REMEMBERS.encode()})
    states = np.array([[1.0, 2.0], [3.0, 6.0]], dtype=np.float32)
    asked.call("net_create", width=3, height=3, block=1)
    before, evaluated = asked.call("net_weights"), asked.call("net_policy_value", states=states)
    heads = asked.call("net_forward", states=states, train_mode=train_mode)
    assert np.allclose(heads[0], [[-1, -1], [1, 1]] if train_mode else states, atol=1e-3)
    after = asked.call("net_weights")
    assert all(np.array_equal(before[key], after[key]) for key in before)
    assert np.array_equal(asked.call("net_policy_value", states=states)[0], evaluated[0]), "it is still in eval mode"


def test_a_worker_answers_one_question_after_the_other_from_the_same_process(worker):
    asked = worker()
    assert [choose(asked) for _ in range(3)] == [[1], [2], [3]]


def test_a_search_may_put_stones_back_in_another_order_and_must_not_change_them(worker):
    assert choose(worker("board.states[0] = board.states.pop(0)")) == [1]
    assert "changes the board" in fault(worker("board.states[0] = 2"))


@pytest.mark.machine
def test_a_closed_worker_starts_anew_when_it_is_asked_again(worker):
    asked = worker()
    assert choose(asked) == [1]
    asked.close()
    asked.close()
    assert choose(asked) == [1]


def test_the_same_seed_gives_the_same_answers_also_in_a_fresh_process(worker):
    """numpy, torch and random are what solutions draw from."""
    draws = "import random; probs = np.array([random.random(), np.random.random()])"
    network = ROOT / "instructor/reference/AlphaZero/policy_value_net_torch.py"
    asked, drawn = worker(draws, more={"AlphaZero/policy_value_net_torch.py": network.read_bytes()}), []
    for seed in (1, 1, 2):
        asked.seed_rng = Random(seed)
        answers = [asked.call("search", position=POSITION, **PLAYER)["probs"].tolist() for _ in range(2)]
        for _ in range(2):
            asked.call("net_create", width=3, height=3, block=1)
            answers.append(asked.call("net_weights")["flatten_layer_3.weight"].tolist())
        drawn.append(answers)
        asked.close()
    assert drawn[0] == drawn[1]
    different = [*drawn[0], *drawn[2]]
    assert all(a != b for a, b in combinations(different, 2))


def test_arrays_and_what_is_no_number_come_back_as_they_were(worker):
    asked = worker("probs = np.array([0.5, np.nan, np.inf, -np.inf, -0.0, 1e-320])")
    seen = asked.call("search", position=POSITION, **PLAYER)
    assert seen["move"] == 1 and seen["tree"]["visits"].tolist() == [3.0]
    assert seen["probs"].tobytes() == np.array([0.5, np.nan, np.inf, -np.inf, -0.0, 1e-320]).tobytes()


@pytest.mark.machine
def test_what_is_printed_read_or_closed_by_the_student_touches_no_answer(worker):
    mischief = (
        "print('x' * 3_000_000); sys.stdout.flush(); sys.stderr.write('y' * 3_000_000); os.write(1, b'z\\n'); "
        "assert sys.stdin.read() == ''; os.close(0); os.close(1); sys.stdout = None"
    )
    asked = worker(mischief)
    assert choose(asked) == [1]


def test_a_forged_answer_on_standard_output_gains_nothing(worker):
    asked = worker("""os.write(1, b'{"nonce": "0000000000000000", "value": [8]}\\n'); print('{"value": [8]}', flush=True)""")
    assert choose(asked) == [1]


@pytest.mark.machine
@pytest.mark.parametrize("nonce", ["0000000000000000", None], ids=["guessed", "left out"])
def test_a_forged_answer_on_every_descriptor_is_a_fault_and_the_next_worker_is_whole(worker, nonce):
    forged = json.dumps({"nonce": nonce, "value": [8]} if nonce else {"value": [8]})
    asked = worker(
        "for fd in range(3, 40):\n"
        "            try:\n"
        f"                os.write(fd, b'{forged}\\n')\n"
        "            except OSError:\n"
        "                pass"
    )
    assert fault(asked) == "The program wrote something of its own to its connection with the grader."
    assert asked.call("choose", positions=[], **PLAYER) == []


# ------------------------------------------------------------------------------------------------------ faults


READER = f"read by Python {platform.python_version()}"
WRONG = [  # with {} for the line that it stands on
    ("sys.exit(0)", "SystemExit: 0 (AlphaZero/mcts_pure.py, line {})."),
    ("raise KeyboardInterrupt", "KeyboardInterrupt (AlphaZero/mcts_pure.py, line {})."),
    ("input()", "EOFError: EOF when reading a line (AlphaZero/mcts_pure.py, line {})."),
    ("bytearray(8 << 30)", "MemoryError (AlphaZero/mcts_pure.py, line {})."),
    ("return 'centre', None", "ValueError: expected a move, which is one integer; got centre."),
    ("return (1, 2), None", "ValueError: expected a move, which is one integer; got (1, 2)."),
    ("return None", "TypeError: get_action must return a move and probabilities; it returned None."),
    ("return 4", "TypeError: get_action must return a move and probabilities; it returned a value of type int."),
    ("raise ValueError('a\\x1b[2J\\udc80\\u2028b')", "ValueError: a [2J b (AlphaZero/mcts_pure.py, line {})."),
    (
        "from itertools import nothing",
        "ImportError: cannot import name 'nothing' from 'itertools' (unknown location) "
        f"(AlphaZero/mcts_pure.py, line {{}}, {READER}).",
    ),
    (
        "from AlphaZero import nothing",
        "ImportError: cannot import name 'nothing' from 'AlphaZero' (AlphaZero/__init__.py) "
        f"(AlphaZero/mcts_pure.py, line {{}}, {READER}).",
    ),
    ("import AlphaZero.network", "AlphaZero/network.py is missing from the submission."),
]


@pytest.mark.machine
def test_what_student_code_raises_or_returns_wrong_is_told_and_the_worker_goes_on(worker):
    mischief = "\n        ".join(f"if calls == {i}: {wrong}" for i, (wrong, _) in enumerate(WRONG, 1))
    asked = worker(mischief)
    for i, (_, sentence) in enumerate(WRONG):
        assert fault(asked) == sentence.format(LINE + i)
    assert choose(asked) == [1 + len(WRONG)]  # the same process all the time


BESIDE_THE_MOVE = ["None", "{1: 0.5, 2: 0.5}", "'shares'", "[0.5, 'x']", "[[0.5], [0.25, 0.25]]", "iter([1.0])", "object()"]


@pytest.mark.parametrize("answer", BESIDE_THE_MOVE)
def test_what_is_no_array_of_numbers_beside_the_move_is_no_fault_and_no_probabilities(worker, answer):
    asked = worker(f"return 1, {answer}")
    seen = asked.call("search", position=POSITION, **PLAYER)
    assert seen["move"] == 1 and seen["probs"] is None


def test_shares_beside_the_move_come_back_as_a_flat_array(worker):
    for answer in ("[0.25, 0.75]", "(0.25, 0.75)", "np.array([[0.25, 0.75]])"):
        asked = worker(f"return 1, {answer}")
        assert asked.call("search", position=POSITION, **PLAYER)["probs"].tolist() == [0.25, 0.75]
        asked.close()


def test_self_play_ends_with_an_illegal_move_and_shows_its_tree(worker):
    [step] = worker("return 4, None").call("self_play", position=POSITION, plies=2, **PLAYER)
    assert step["move"] == 4 and step["tree"]["parent"].tolist() == [-1]


ASSERTIONS = {
    "the published stub's about a handle": ("assert actin_fc == self.action_fc_test", True),
    "the published stub's about the other one": ("assert evaluation_fc == self.evaluation_fc2_test", True),
    "their own": ("assert actin_fc > 5", False),
    "numpy's, which they called": ("np.testing.assert_equal(actin_fc, 5)", False),
}


@pytest.mark.parametrize("written_by", ASSERTIONS)
def test_an_assertion_that_was_handed_out_could_not_be_graded_and_their_own_is_a_fault(worker, written_by):
    line, handed_out = ASSERTIONS[written_by]
    handles = "    action_fc_test, evaluation_fc2_test = 2, 3\n\n"
    method = f"    def policy_value(self, actin_fc=0, evaluation_fc=1):\n        {line}\n\n"
    module = MODULE.replace("    def get_action", f"{handles}{method}    def get_action")
    module = module.replace("MISCHIEF", "self.policy_value()")
    asked = worker(more={"AlphaZero/mcts_pure.py": module.encode()})
    with pytest.raises(CouldNotGrade if handed_out else StudentFault, match="AssertionError"):
        choose(asked)
    assert asked.call("choose", positions=[], **PLAYER) == []


WAYS = {  # files of a workspace, each called by the one before, and what the last one raises
    "train.py asserts": (["train.py"], AssertionError, True),
    "train.py asserts, called by the submission": (["AlphaZero/net.py", "train.py"], AssertionError, True),
    "the submission asserts, called by train.py": (["train.py", "AlphaZero/net.py"], AssertionError, False),
    "Board refuses what the grader does": (["Board/game_board.py"], ValueError, True),
    "Board refuses what the submission does": (["AlphaZero/net.py", "Board/game_board.py"], ValueError, False),
    "Board refuses a player's move in train.py": (["train.py", "Board/game_board.py"], ValueError, False),
    "the submission fails": (["AlphaZero/net.py"], ValueError, False),
    "train.py cannot use what the submission gave": (["train.py"], TypeError, False),
    "the grader cannot use what the submission gave": ([], TypeError, False),
}


@pytest.mark.parametrize("way", WAYS)
def test_whose_failure_it_is_depends_on_who_called_and_who_raised(tmp_path, way):
    files, error, expected = WAYS[way]
    call = {"error": error}
    for number, file in enumerate(reversed(files)):
        body = "inner()" if number else ("assert error is None" if error is AssertionError else "raise error")
        path = tmp_path / file
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"def outer():\n    {body}\n")
        call = {"error": error, "inner": call.get("outer")}
        exec(compile(path.read_text(), path, "exec"), call)
    with pytest.raises(error) as caught:
        call["outer"]() if files else int(None)
    assert is_ours(caught.value, tmp_path) == expected


def test_a_position_that_the_grader_gets_wrong_could_not_be_graded(worker):
    """Nothing of the submission has been called when Board refuses it."""
    with pytest.raises(
        CouldNotGrade, match=r"^code that was handed out seems to have failed, unless .* forges this: ValueError"
    ):
        worker().call("choose", positions=[{**POSITION, "moves": [0, 0]}], **PLAYER)


NETWORK_THAT_CHANGES_FOLDER = """
import os
import torch
os.chdir(os.path.dirname(__file__))

class PolicyValueNet:
    def __init__(self, width, height, block, init_model=None):
        self.model = torch.nn.Linear(2, 1)
        self.model.load_state_dict(torch.load(init_model, weights_only=True))
"""


def test_a_module_may_change_the_working_folder_when_it_is_imported(worker):
    """The folder of the module cannot be written; the weights given to the network come by a file elsewhere."""
    asked = worker(more={"AlphaZero/policy_value_net_torch.py": NETWORK_THAT_CHANGES_FOLDER.encode()})
    weights = {"weight": np.array([[0.5, 2.0]], dtype=np.float32), "bias": np.array([1.0], dtype=np.float32)}
    asked.call("net_create", width=3, height=3, block=1, weights=weights)
    assert asked.call("net_weights")["weight"].tolist() == [[0.5, 2.0]]


def test_a_message_of_several_lines_becomes_one_sentence(worker):
    assert fault(worker("raise ValueError('first\\n\\tsecond')")).startswith("ValueError: first second (AlphaZero/")


ENDINGS = {
    "exit": "os._exit(3)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "killed by a signal without a name": "os.kill(os.getpid(), 40)",
    "aborted": "os.abort()",
    "an exception that cannot be told": "raise type('E', (Exception,), {'__str__': lambda self: 1 / 0})()",
    "descriptors closed": "os.closerange(0, 100)",
}


@pytest.mark.machine
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_that_ends_itself_is_told_so_and_the_next_question_finds_a_new_one(worker, ending):
    asked = worker(ENDINGS[ending])
    assert fault(asked).startswith("The program ended in the middle of a check (")
    assert asked.call("choose", positions=[], **PLAYER) == []


@pytest.mark.machine
@pytest.mark.parametrize(
    "mischief",
    ["os._exit(126)", "os._exit(127)", "os.write(2, b'bwrap: no permission\\n'); os._exit(1)"],
    ids=["126", "127", "words of bwrap"],
)
def test_an_end_that_looks_like_a_failed_confinement_is_the_students_fault_all_the_same(worker, mischief):
    assert fault(worker(mischief)).startswith("The program ended in the middle of a check (")


@pytest.mark.machine
@pytest.mark.parametrize(
    "mischief",
    [
        "while True: pass",
        "signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)",
        "os.closerange(0, 100); time.sleep(60)",
        "time.sleep(60) if os.fork() else time.sleep(60)",
    ],
    ids=["busy", "deaf", "closed", "forked"],
)
def test_a_hang_ends_at_the_limit_with_a_sentence(worker, mischief):
    asked = worker(mischief, limits=MANY)
    assert asked.call("choose", positions=[], **PLAYER) == []  # started, so that the limit is the call's alone
    started = time.monotonic()
    sentence = fault(asked, limit_s=0.5)
    assert sentence.startswith(("No reply within ", "The program closed its connection to the grader."))
    assert time.monotonic() - started < 30  # seconds, where the program would have gone on for a minute or for ever
    assert asked.call("choose", positions=[], **PLAYER) == []


@pytest.mark.machine
@pytest.mark.parametrize("start", ["os.fork()", "subprocess.run(['true'])", "os.posix_spawn('/bin/true', ['true'], {})"])
def test_a_program_starts_no_other_process_and_may_have_threads(worker, start):
    asked = worker(f"t = threading.Thread(target=int); t.start(); t.join(); {start}")
    assert fault(asked).startswith("PermissionError: [Errno 1] Operation not permitted")


@pytest.mark.machine
def test_a_program_that_used_up_the_time_of_its_process_is_told_so(worker):
    asked = worker("while True: pass", limits=replace(LIMITS, cpu_s=4))
    assert fault(asked) == "The program ended in the middle of a check (it used up the 4 s of CPU time of one process)."


@pytest.mark.machine
def test_endless_output_ends_at_the_limit(worker):
    assert fault(worker("while True: os.write(2, b'x' * 65536)"), limit_s=1.5).startswith("No reply within ")


@pytest.mark.machine
@pytest.mark.skipif(find_sandbox().level not in WITH_NAMESPACES, reason="only a process namespace holds a detached child")
def test_a_child_that_left_the_process_group_ends_with_its_worker(worker):
    seconds = f"4711.{os.getpid()}"  # no other process sleeps so long
    asked = worker(f"subprocess.Popen(['sleep', '{seconds}'], start_new_session=True); time.sleep(60)", limits=MANY)
    fault(asked, limit_s=1.5)
    assert eventually(lambda: not processes_with(f"{seconds}\0".encode()))


def test_an_answer_over_the_cap_is_a_fault(worker, monkeypatch):
    monkeypatch.setattr(worker_client, "MAX_REPLY_BYTES", 1 << 20)
    asked = worker("probs = np.zeros(200_000)")
    with pytest.raises(StudentFault, match=r"^The reply was longer than 1 MiB\.$"):
        asked.call("search", position=POSITION, **PLAYER)


ODD_REPLIES = {
    "nothing": b"\n",
    "no JSON": b"hello\n",
    "no UTF-8": b"\xff\n",
    "a list": b'["NONCE", 1]\n',
    "another nonce": b'{"nonce": "0", "value": 1}\n',
    "more than asked": b'{"nonce": "NONCE", "value": 1, "points": 100}\n',
    "two answers": b'{"nonce": "NONCE", "value": 1}\n{"nonce": "NONCE", "value": 2}\n',
    "neither value nor fault": b'{"nonce": "NONCE", "points": 100}\n',
    "a fault that is a number": b'{"nonce": "NONCE", "fault": 3}\n',
    "an array of objects": b'{"nonce": "NONCE", "value": {"__array__": ["O", [1], "AAAAAAAAAAA="]}}\n',
    "an array without its parts": b'{"nonce": "NONCE", "value": {"__array__": 3}}\n',
    "an array of other length": b'{"nonce": "NONCE", "value": {"__array__": ["f8", [7], "AAAAAAAAAAA="]}}\n',
    "an endless array": b'{"nonce": "NONCE", "value": {"__array__": ["f8", [99999999999999999999999], "AAAAAAAAAAA="]}}\n',
    "an array of no type": b'{"nonce": "NONCE", "value": {"__array__": ["f8,(", [1], "AAAAAAAAAAA="]}}\n',
    "an array with another sign of a size": b'{"nonce": "NONCE", "value": {"__array__": ["float64", [-1], "AAAAAAAAAAA="]}}\n',
    "an array of texts as its size": b'{"nonce": "NONCE", "value": {"__array__": ["float64", ["1"], "AAAAAAAAAAA="]}}\n',
    "an array that is no base64": b'{"nonce": "NONCE", "value": {"__array__": ["float64", [1], "AAAA(AAAAAAA="]}}\n',
    "an array in place of a list": b'{"nonce": "NONCE", "value": {"__array__": ["float64", [1], "AAAAAAAAAAA="]}}\n',
    "a number in place of a list": b'{"nonce": "NONCE", "value": 3}\n',
    "texts in place of numbers": b'{"nonce": "NONCE", "value": ["3"]}\n',
    "a fault told in numbers": b'{"nonce": "NONCE", "fault": {"type": "E", "message": 3, "place": ""}}\n',
    "a fault that lacks its place": b'{"nonce": "NONCE", "fault": {"type": "E", "message": ""}}\n',
    "a value and a fault": b'{"nonce": "NONCE", "value": [1], "fault": {"type": "E", "message": "", "place": ""}}\n',
    "a million empty lists": b'{"nonce": "NONCE", "value": [' + b"[]," * 1_000_000 + b"[]]}\n",
    "deep": b'{"nonce": "NONCE", "value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n",
    "a number beyond floats": b'{"nonce": "NONCE", "value": 1' + b"0" * 400 + b"}\n",
    "a long number": b'{"nonce": "NONCE", "value": ' + b"9" * 10_000 + b"}\n",
}


@pytest.mark.parametrize("odd", ODD_REPLIES)
def test_whatever_stands_in_the_exchange_is_at_most_the_students_fault(worker, monkeypatch, odd):
    def exchange(_, request, __):
        return ODD_REPLIES[odd].replace(b"NONCE", json.loads(request)["nonce"].encode())

    monkeypatch.setattr(Worker, "_start", lambda _: None)
    monkeypatch.setattr(Worker, "_exchange", exchange)
    assert fault(worker()) == "The program wrote something of its own to its connection with the grader."


def test_every_operation_has_a_layout_of_its_reply():
    assert REPLIES.keys() == OPERATIONS.keys()


def test_an_operation_without_the_layout_of_its_reply_is_said_to_lack_it(worker):
    with pytest.raises(CouldNotGrade, match=r"layout of the reply to softmax_of in grader/confinement/replies\.py; got none"):
        worker().call("softmax_of")


@pytest.mark.parametrize(
    ("operation", "value"),
    [
        ("search", {"move": 1, "probs": None, "tree": {}}),
        ("self_play", [{"move": 1, "probs": [0.5], "tree": None}]),
        ("net_weights", {"conv2d_1.weight": [0.5]}),
        ("net_weights", [1]),
        ("net_policy_value", [encode(np.zeros(1))] * 3),
        ("train_play", {"states": [], "probs": [], "winners": []}),
        ("train_start", 3),
    ],
)
def test_a_value_laid_out_as_no_such_operation_answers_is_a_fault(worker, monkeypatch, operation, value):
    def exchange(_, request, __):
        return json.dumps({"nonce": json.loads(request)["nonce"], "value": value}).encode()

    monkeypatch.setattr(Worker, "_start", lambda _: None)
    monkeypatch.setattr(Worker, "_exchange", exchange)
    with pytest.raises(StudentFault, match="something of its own"):
        worker().call(operation)


def test_outputs_that_are_no_numbers_are_told_as_what_they_are(worker):
    asked = worker("import sys; sys.modules['grader.confinement.worker'].OPERATIONS['choose'] = lambda **_: np.array([None])")
    choose(asked)
    assert fault(asked) == "ValueError: expected numbers, got an array of object."


# ---------------------------------------------------------------------------------------- the machine's own faults


class Broken:
    """A sandbox whose command line is another."""

    def __init__(self, command):
        self.command = command

    def wrap(self, *_, **__):
        return self.command


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["/no/such/program"], "the worker process did not start"),
        (
            ["bash", "-c", "echo bwrap: no permission >&2; exit 1"],
            "could not be confined; its last words: bwrap: no permission",
        ),
        (["bash", "-c", "exit 126"], "could not be confined"),
        (["bash", "-c", "echo welcome"], "began with b'welcome.n' instead of its hello"),
    ],
)
def test_a_worker_that_cannot_be_confined_is_no_fault_of_the_student(worker, command, words):
    with pytest.raises(CouldNotGrade, match=words):
        choose(worker(sandbox=Broken(command)))


def test_a_worker_that_never_says_hello_is_no_fault_of_the_student(worker, monkeypatch):
    monkeypatch.setattr(worker_client, "START_LIMIT_S", 0.3)
    with pytest.raises(CouldNotGrade, match="could not be confined"):
        choose(worker(sandbox=Broken(["sleep", "60"])))


@pytest.mark.machine
def test_confine_says_what_could_not_be_started(worker):
    limits = ["--memory-mib", "512", "--cpu-s", "5", "--processes", "32", "--file-size-mib", "1", "--cwd", "/"]
    command = [sys.executable, "-I", "-S", str(CONFINE), *limits, "--", "/no/such/program"]
    with pytest.raises(CouldNotGrade, match="cannot start /no/such/program: No such file or directory"):
        choose(worker(sandbox=Broken(command)))
