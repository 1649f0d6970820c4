"""One network for several processes: they send the states to evaluate, and the process that has the network answers.

    workers (ServedNetwork) -> packed states -> serve_network -> probabilities and values

A GPU is fast only on large batches, and each further process that uses it takes memory and a share of its time. So the workers
of a run on a GPU share one network. What arrives while a batch is being computed becomes the next batch: under load, batches
fill up across the workers, and no request waits for others that may not come.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait

import numpy as np

from games.protocol import GameRules
from training.inference.evaluators import InferenceNetwork
from training.samples import pack_states, unpack_states

MakeNetwork = Callable[[bytes, InferenceNetwork | None], InferenceNetwork]
"""(weights, the network in use or None) -> a network with these weights."""


class ServedNetwork:
    """An evaluator (see training.inference.evaluators) whose network is computed by another process.

    Args:
        connection: a pipe whose other end is given to `serve_network`.

    Attributes:
        evaluations: the number of states evaluated so far.
        elsewhere_s: the CPU time in seconds that the other process has spent on them.
        description: how it computes the network, such as `torch, bfloat16 on cuda, for all workers`.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.evaluations = 0
        self.elsewhere_s = 0.0
        self.description = ""

    def use(self, weights: bytes) -> None:
        """Make the server use these weights from now on, for all workers, unless it has already had them.

        Raises:
            EOFError, OSError: the server has ended.
        """
        self._connection.send(weights)
        self.description = f"{self._connection.recv()}, for all workers"

    def __call__(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self._connection.send(pack_states(states))
        probs, values, cpu_s = self._connection.recv()
        self.evaluations += len(states)
        self.elsewhere_s += cpu_s
        return probs, values


def serve_network(connections: Sequence[Connection], make_network: MakeNetwork, rules: GameRules) -> None:
    """Answer the requests of workers until all of them have closed their connections.

    Args:
        connections: a pipe to each worker's ServedNetwork.
        make_network: makes the network, or loads new weights into the one in use.
        rules: the game, which says how states are packed.
    """
    open_connections = list(connections)
    network: InferenceNetwork | None = None
    known: set[bytes] = set()  # a worker may come with weights that another has already replaced by newer ones
    while open_connections:
        requests: dict[Connection, np.ndarray] = {}
        for connection in wait(open_connections):
            assert isinstance(connection, Connection)
            try:
                message = connection.recv()
            except (EOFError, OSError):
                open_connections.remove(connection)
                continue
            if not isinstance(message, bytes):
                requests[connection] = message
                continue
            digest = hashlib.sha256(message).digest()
            if network is None or digest not in known:
                network = make_network(message, network)
                known.add(digest)
            connection.send(network.description)
        if requests:
            assert network is not None, "expected weights before the first states"
            _answer(requests, network, rules)


def _answer(requests: dict[Connection, np.ndarray], network: InferenceNetwork, rules: GameRules) -> None:
    """Evaluate the states of all requests in one batch, and send each worker its part and its share of the CPU time."""
    began = time.process_time()
    states = unpack_states(np.concatenate(list(requests.values())), rules)
    probs, values = network(states)
    cpu_s = (time.process_time() - began) / len(states)
    first = 0
    for connection, packed in requests.items():
        part = slice(first, first := first + len(packed))
        try:
            connection.send((probs[part], values[part], cpu_s * len(packed)))
        except OSError:
            continue  # the worker has ended; the next round takes its connection out
