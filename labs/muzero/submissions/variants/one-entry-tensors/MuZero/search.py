"""A search that keeps the values and rewards of the model as it gets them, as tensors with one entry."""

import numpy as np
import torch

from labs.muzero.given.games import SearchResult


class Node:
    def __init__(self, prior):
        self.prior, self.n, self.total = prior, 0, torch.zeros(1)

    def expand(self, latent, logits, allowed):
        self.latent = latent
        priors = torch.softmax(logits[0, allowed], dim=0)
        self.children = {action: Node(prior) for action, prior in zip(allowed, priors)}

    def best(self, low, high, c_puct):
        factor = c_puct * (1 + sum(child.n for child in self.children.values())) ** 0.5
        scores = {}
        for action, child in self.children.items():
            scores[action] = factor * child.prior / (1 + child.n)
            if child.n:
                scores[action] = scores[action] + (child.total / child.n - low) / (high - low).clamp(min=1e-5)
        return max(scores, key=scores.get)


@torch.no_grad()
def search(model, board, n_simulations=25, c_puct=1.25):
    root = Node(1.0)
    latent = model.represent(torch.tensor(board.current_state(), dtype=torch.float32)[None])
    root.expand(latent, model.predict(latent)[0], board.availables)
    low, high = torch.full((1,), torch.inf), torch.full((1,), -torch.inf)
    for _ in range(n_simulations):
        path = [root]
        while hasattr(path[-1], "children"):
            action = path[-1].best(low, high, c_puct)
            path.append(path[-1].children[action])
        leaf = path[-1]
        latent, leaf.reward = model.dynamics(path[-2].latent, torch.tensor([action]))
        logits, G = model.predict(latent)
        leaf.expand(latent, logits, list(range(model.actions)))
        for node in reversed(path[1:]):
            G = node.reward - G
            node.n, node.total = node.n + 1, node.total + G
            low, high = torch.minimum(low, node.total / node.n), torch.maximum(high, node.total / node.n)
    visits, totals = np.zeros(model.actions), torch.zeros(1)
    for action, child in root.children.items():
        visits[action] = child.n
        totals += child.total
    return SearchResult(visits, totals / n_simulations, visits.argmax())
