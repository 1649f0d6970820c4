"""The search of the paper's pseudocode, with q scaled from the first one on, and without the root's own value in its bounds."""

import math

import numpy as np
import torch

from labs.muzero.given.games import SearchResult

PB_C_BASE = 19652


class MinMaxStats:
    def __init__(self):
        self.maximum, self.minimum = -float("inf"), float("inf")

    def update(self, value):
        self.maximum, self.minimum = max(self.maximum, value), min(self.minimum, value)

    def normalize(self, value):
        return (value - self.minimum) / max(self.maximum - self.minimum, 1e-5)


class Node:
    def __init__(self, prior):
        self.prior, self.visit_count, self.reward_sum = prior, 0, 0.0
        self.hidden_state, self.reward, self.children = None, 0.0, {}


def ucb_score(parent, child, min_max_stats, pb_c_init):
    pb_c = math.log((parent.visit_count + PB_C_BASE + 1) / PB_C_BASE) + pb_c_init
    pb_c *= math.sqrt(parent.visit_count) / (child.visit_count + 1)
    prior_score = pb_c * child.prior
    if child.visit_count == 0:
        return prior_score
    return prior_score + min_max_stats.normalize(child.reward_sum / child.visit_count)


def expand_node(node, hidden_state, logits, actions):
    node.hidden_state = hidden_state
    policy = {a: math.exp(logits[a]) for a in actions}
    whole = sum(policy.values())
    node.children = {action: Node(p / whole) for action, p in policy.items()}


def backpropagate(search_path, value, min_max_stats):
    search_path[-1].visit_count += 1
    for parent, node in zip(search_path[-2::-1], search_path[:0:-1]):
        value = node.reward - value
        parent.visit_count += 1
        node.reward_sum += value
        min_max_stats.update(node.reward_sum / node.visit_count)
    return value


def search(model, board, n_simulations=25, c_puct=1.25):
    min_max_stats = MinMaxStats()
    root = Node(0)
    with torch.no_grad():
        hidden_state = model.represent(torch.as_tensor(board.current_state(), dtype=torch.float32).unsqueeze(0))
        expand_node(root, hidden_state, model.predict(hidden_state)[0][0].tolist(), board.availables)
        root.visit_count = 1
        values = []
        for _ in range(n_simulations):
            node, search_path = root, [root]
            while node.children:
                action, node = max(
                    node.children.items(), key=lambda item: ucb_score(search_path[-1], item[1], min_max_stats, c_puct)
                )
                search_path.append(node)
            hidden_state, reward = model.dynamics(search_path[-2].hidden_state, torch.tensor([action]))
            logits, value = model.predict(hidden_state)
            node.reward = reward.item()
            expand_node(node, hidden_state, logits[0].tolist(), range(model.actions))
            values.append(backpropagate(search_path, value.item(), min_max_stats))
    visits = np.zeros(model.actions)
    for action, child in root.children.items():
        visits[action] = child.visit_count
    return SearchResult(visits, sum(values) / n_simulations, int(visits.argmax()))
