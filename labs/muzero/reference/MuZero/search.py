"""Search in the latent space: PUCT with min-max normalised Q (Schrittwieser et al. 2020, appendix B; handout section 5).

The board is asked only at the root. `q(s, a)` is the mean result of action a, for the player who is to move at s. Only
`search` is called from outside; the names of everything else are yours.
"""

import numpy as np
import torch

from labs.muzero.given.games import SearchResult


class Node:
    """A latent state in the tree.

    Attributes:
        latent: [1, D].
        priors: [A], the probabilities of the actions; illegal actions of the root have none.
        rewards: [A], the reward of each action that has been taken.
        visits: [A], how often each action has been taken.
        sums: [A], the sums of their results, for the player who is to move here.
        children: dict action -> Node.
    """

    def __init__(self, latent, priors):
        self.latent = latent
        self.priors = priors
        self.rewards = np.zeros(len(priors))
        self.visits = np.zeros(len(priors))
        self.sums = np.zeros(len(priors))
        self.children = {}


class Bounds:
    """The smallest and the largest q that any action in the tree has had so far."""

    def __init__(self):
        self.smallest = float("inf")
        self.largest = -float("inf")

    def update(self, q):
        """Take a new q into account."""
        ### BEGIN SOLUTION 5.2
        self.smallest = min(self.smallest, q)
        self.largest = max(self.largest, q)
        ### END SOLUTION

    def scaled(self, q):
        """Return q between 0 (the smallest so far) and 1 (the largest so far)."""
        ### BEGIN SOLUTION 5.2
        return (q - self.smallest) / max(self.largest - self.smallest, 1e-5)
        ### END SOLUTION


def make_root(model, board):
    """Return the root: the latent state of the real position, with priors for its legal moves only."""
    ### BEGIN SOLUTION 5.1
    planes = torch.as_tensor(np.array(board.current_state()), dtype=torch.float32)
    latent = model.represent(planes[None])
    logits, _ = model.predict(latent)
    legal = np.zeros(model.actions, dtype=bool)
    legal[board.availables] = True
    logits = logits[0].masked_fill(torch.as_tensor(~legal), -torch.inf)
    return Node(latent, torch.softmax(logits, dim=0).numpy())
    ### END SOLUTION


def select(node, bounds, c_puct):
    """Return the action with the largest scaled q + c_puct * prior * sqrt(1 + all visits of the node) / (1 + its visits).

    An action that has not been taken yet has a scaled q of 0. Actions without a prior are never taken.
    """
    ### BEGIN SOLUTION 5.2
    scores = c_puct * node.priors * np.sqrt(1 + node.visits.sum()) / (1 + node.visits)
    for action in np.flatnonzero(node.visits):
        scores[action] += bounds.scaled(node.sums[action] / node.visits[action])
    scores[node.priors == 0] = -np.inf
    return int(scores.argmax())
    ### END SOLUTION


def simulate(model, root, bounds, c_puct):
    """Run one simulation: select down to an action that has no child yet, expand it, and back its value up."""
    ### BEGIN SOLUTION 5.3
    node, path = root, []
    while True:
        action = select(node, bounds, c_puct)
        path.append((node, action))
        if action not in node.children:
            break
        node = node.children[action]
    latent, reward = model.dynamics(node.latent, torch.tensor([action]))
    logits, value = model.predict(latent)
    node.rewards[action] = float(reward)
    node.children[action] = Node(latent, torch.softmax(logits[0], dim=0).numpy())
    result = float(value)
    for node, action in reversed(path):
        result = node.rewards[action] - result
        node.visits[action] += 1
        node.sums[action] += result
        bounds.update(node.sums[action] / node.visits[action])
    ### END SOLUTION


def search(model, board, n_simulations=25, c_puct=1.25):
    """Search a position.

    Args:
        model: a Model.
        board: the real position; only its current_state() [P, H, W] and its availables may be asked, at the root.
        n_simulations: the number of simulations; each adds one node to the tree.
        c_puct: the weight of the exploration bonus.

    Returns:
        SearchResult: visits [A] of the root's actions, whose sum is n_simulations; the mean result of all simulations for the
        side to move; a most visited action.
    """
    ### BEGIN SOLUTION 5
    with torch.no_grad():
        root, bounds = make_root(model, board), Bounds()
        for _ in range(n_simulations):
            simulate(model, root, bounds, c_puct)
    return SearchResult(root.visits, root.sums.sum() / root.visits.sum(), int(root.visits.argmax()))
    ### END SOLUTION
