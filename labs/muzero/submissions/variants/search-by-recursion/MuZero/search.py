"""A recursive search; each child keeps the mean result of the action that led to it."""

import math

import torch

from labs.muzero.given.games import SearchResult


class Child:
    def __init__(self, prior):
        self.prior, self.n, self.q = prior, 0, 0.0
        self.state = None
        self.reward = 0.0
        self.below = {}


class LatentSearch:
    def __init__(self, model, c_puct):
        self.model, self.c_puct, self.all = model, c_puct, []

    def spread(self, state, moves):
        logits, value = self.model.predict(state)
        probabilities = torch.softmax(logits[0][moves], dim=0)
        return {move: Child(float(p)) for move, p in zip(moves, probabilities)}, value.item()

    def normal(self, child):
        if child.n == 0:
            return 0.0
        qs = [each.q for each in self.all]
        return (child.q - min(qs)) / max(max(qs) - min(qs), 1e-5)

    def best(self, children):
        root = math.sqrt(1 + sum(child.n for child in children.values()))
        return max(
            children,
            key=lambda move: self.normal(children[move]) + self.c_puct * children[move].prior * root / (1 + children[move].n),
        )

    def descend(self, state, children):
        move = self.best(children)
        child = children[move]
        if child.state is None:
            child.state, reward = self.model.dynamics(state, torch.tensor([move]))
            child.reward = reward.item()
            child.below, result = self.spread(child.state, list(range(self.model.actions)))
            self.all.append(child)
        else:
            result = self.descend(child.state, child.below)
        result = child.reward - result
        child.q = (child.q * child.n + result) / (child.n + 1)
        child.n += 1
        return result


@torch.no_grad()
def search(model, board, n_simulations=25, c_puct=1.25):
    planes = torch.tensor(board.current_state()).float()
    tree = LatentSearch(model, c_puct)
    state = model.represent(planes.unsqueeze(0))
    children, _ = tree.spread(state, list(board.availables))
    results = [tree.descend(state, children) for _ in range(n_simulations)]
    visits = torch.zeros(model.actions)
    for move in board.availables:
        visits[move] = children[move].n
    return SearchResult(visits.numpy(), sum(results) / n_simulations, max(children, key=lambda move: children[move].n))
