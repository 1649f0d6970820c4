"""One process computes the network for several workers: each gets what its own network would give it, in shared batches."""

import io
import multiprocessing
import os
import signal
import threading
import time

import numpy as np
import pytest
import torch
from selfplay_run_tools import arguments, games_of, resumed, state_of

from games.gomoku.rules import GomokuRules
from training.inference.evaluators import InferenceNetwork
from training.inference.networks import new_model
from training.inference.server import ServedNetwork, serve_network
from training.selfplay.worker_networks import to_bytes

RULES = GomokuRules(5, 4, 3)
WAIT_S = 60


def states_of(number, seed):
    return np.random.default_rng(seed).integers(0, 2, (number, RULES.planes, RULES.height, RULES.width)).astype(np.float32)


def weights_of(seed):
    torch.manual_seed(seed)
    return to_bytes(new_model("residual", RULES, 1, 8))


def network_of(weights):
    model = new_model("residual", RULES, 1, 8)
    model.load_state_dict(torch.load(io.BytesIO(weights), weights_only=True))
    return InferenceNetwork(model, RULES.width, RULES.height)


class Server:
    """A server in a thread; it computes with the real network, and notes batches and weights."""

    def __init__(self, workers):
        pipes = [multiprocessing.Pipe() for _ in range(workers)]
        self.networks = [ServedNetwork(here) for here, _ in pipes]
        self.ends = [here for here, _ in pipes]
        self.batches, self.loaded = [], []
        self.may_compute = threading.Event()
        self.may_compute.set()
        self.computing = threading.Event()
        self.theirs = [end for _, end in pipes]
        self.thread = threading.Thread(target=serve_network, args=(self.theirs, self.make, RULES), daemon=True)
        self.thread.start()

    def make(self, weights, earlier):
        self.loaded.append(weights)
        self.network, watched = network_of(weights), self

        class Watched:
            description = watched.network.description

            def __call__(self, states):
                watched.computing.set()
                assert watched.may_compute.wait(WAIT_S)
                watched.batches.append(len(states))
                return watched.network(states)

        return Watched()


@pytest.fixture
def server():
    made = []

    def make(workers):
        made.append(Server(workers))
        return made[-1]

    yield make
    for one in made:
        one.may_compute.set()
        for end in one.ends:
            end.close()
        one.thread.join(WAIT_S)
        assert not one.thread.is_alive(), "it ends when all workers have gone"


def test_each_worker_gets_what_its_own_network_would_give(server):
    served = server(3)
    first = weights_of(1)
    for network in served.networks:
        network.use(first)
    results = [None] * 3

    def ask(number):
        results[number] = [served.networks[number](states_of(3 + number, 10 * number + call)) for call in range(5)]

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT_S)
    own = network_of(first)
    for number, calls in enumerate(results):
        for call, (probs, values) in enumerate(calls):
            expected_probs, expected_values = own(states_of(3 + number, 10 * number + call))
            np.testing.assert_allclose(probs, expected_probs, atol=1e-6)
            np.testing.assert_allclose(values, expected_values, atol=1e-6)
        assert served.networks[number].evaluations == 5 * (3 + number)
        assert served.networks[number].elsewhere_s > 0
        assert served.networks[number].description == f"{own.description}, for all workers"


def test_what_arrives_while_a_batch_is_computed_is_the_next_batch(server):
    served = server(3)
    for network in served.networks:
        network.use(weights_of(1))
    served.may_compute.clear()
    threads = [threading.Thread(target=served.networks[number], args=(states_of(4 + number, 1),)) for number in range(3)]
    threads[0].start()
    assert served.computing.wait(WAIT_S)
    for thread in threads[1:]:
        thread.start()
    until = time.monotonic() + WAIT_S
    while not all(end.poll() for end in served.theirs[1:]) and time.monotonic() < until:
        time.sleep(0.01)
    served.may_compute.set()
    for thread in threads:
        thread.join(WAIT_S)
    assert served.batches == [4, 5 + 6]


def test_new_weights_are_loaded_once_and_older_ones_do_not_come_back(server):
    served = server(2)
    old, new = weights_of(1), weights_of(2)
    served.networks[0].use(old)
    served.networks[0].use(new)
    served.networks[1].use(old)  # it was slower than the other
    served.networks[1].use(new)
    assert served.loaded == [old, new]
    states = states_of(2, 1)
    np.testing.assert_allclose(served.networks[1](states)[0], network_of(new)(states)[0], atol=1e-6)


def test_a_worker_that_ends_does_not_disturb_the_others(server):
    served = server(2)
    served.networks[0].use(weights_of(1))
    served.ends[1].close()
    assert len(served.networks[0](states_of(2, 1))[0]) == 2


def test_a_run_whose_workers_share_a_network(started, tmp_path):
    code, _, err = started(arguments(tmp_path, "--inference-server", "on", workers=2))
    assert code == 0 and "for all workers" in err, err
    (row,) = state_of(tmp_path)["computed_by"]
    assert row["by"].endswith("on cpu, for all workers")
    assert len(games_of(tmp_path)) >= 60 and {game["worker"] for game in games_of(tmp_path)} == {0, 1}


def test_a_server_that_is_killed_ends_the_run_with_a_sentence_and_the_run_can_go_on(started, tmp_path):
    def kill_the_server():
        while True:
            if (tmp_path / "games.jsonl").exists() and games_of(tmp_path):
                for child in multiprocessing.active_children():
                    if child.name == "inference server":
                        os.kill(child.pid, signal.SIGKILL)
                        return
            time.sleep(0.01)

    threading.Thread(target=kill_the_server, daemon=True).start()
    code, _, err = started(arguments(tmp_path, "--inference-server", "on", games=20_000, workers=2))
    last = err.splitlines()[-1]
    assert code == 2 and "Traceback" not in err
    assert "expected all 4 processes to keep running; the one that computes the network ended with exit code -9" in last
    games = len(games_of(tmp_path))
    assert started(resumed(tmp_path, "--games", games + 10))[0] == 0


@pytest.mark.parametrize("more", [("--workers", "0"), ("--workers", "1", "--ray-address", "auto")])
def test_a_server_needs_workers_on_this_machine(started, tmp_path, more):
    code, _, err = started([*arguments(tmp_path), "--inference-server", "on", *more])
    assert code == 2 and "expected --workers of at least 1 and no --ray-address with --inference-server on" in err
