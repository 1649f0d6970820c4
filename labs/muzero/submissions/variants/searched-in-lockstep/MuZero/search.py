"""Nodes with parents; a node's value is seen by the player who moved into it. All roots of a game are searched in lockstep."""

from math import sqrt

import torch

from labs.muzero.given.games import SearchResult


class Node:
    __slots__ = ("parent", "prior", "n", "mean", "reward", "latent", "children", "tree")

    def __init__(self, tree, parent=None, prior=1.0):
        self.tree, self.parent, self.prior = tree, parent, prior
        self.n, self.mean, self.reward, self.latent = 0, 0.0, 0.0, None
        self.children = None

    def grow(self, latent, priors):
        self.latent = latent
        self.children = {a: Node(self.tree, self, p) for a, p in priors.items()}

    def leaf(self, c_puct):
        node, action = self, None
        while node.children is not None:
            s = c_puct * sqrt(1 + sum(c.n for c in node.children.values()))
            action, node = max(node.children.items(), key=lambda e: e[1].scaled() + s * e[1].prior / (1 + e[1].n))
        return node, action

    def scaled(self):
        if not self.n:
            return 0.0
        low, high = self.tree
        return (self.mean - low) / max(high - low, 1e-5)

    def back_up(self, value):
        node = self
        while node.parent is not None:
            value = node.reward - value
            node.n += 1
            node.mean += (value - node.mean) / node.n
            node.tree[:] = min(node.tree[0], node.mean), max(node.tree[1], node.mean)
            node = node.parent
        node.n += 1
        node.mean += (value - node.mean) / node.n


@torch.no_grad()
def search_all(model, boards, n_simulations, c_puct):
    planes = torch.stack([torch.as_tensor(b.current_state(), dtype=torch.float32) for b in boards])
    latents = model.represent(planes)
    logits, _ = model.predict(latents)
    roots = []
    for b, latent, row in zip(boards, latents, logits):
        masked = torch.full_like(row, -1e9)
        masked[b.availables] = row[b.availables]
        p = masked.softmax(0)
        roots.append(Node([float("inf"), -float("inf")]))
        roots[-1].grow(latent, {a: p[a].item() for a in b.availables})
    for _ in range(n_simulations):
        leaves, actions = zip(*(root.leaf(c_puct) for root in roots))
        latents, rewards = model.dynamics(torch.stack([x.parent.latent for x in leaves]), torch.tensor(actions))
        logits, values = model.predict(latents)
        for leaf, latent, r, row, v in zip(leaves, latents, rewards.tolist(), logits.softmax(1).tolist(), values.tolist()):
            leaf.reward = r
            leaf.grow(latent, dict(enumerate(row)))
            leaf.back_up(v)
    results = []
    for root in roots:
        visits = [root.children[a].n if a in root.children else 0 for a in range(model.actions)]
        results.append(SearchResult(visits, root.mean, visits.index(max(visits))))
    return results


def search(model, board, n_simulations=25, c_puct=1.25):
    return search_all(model, [board], n_simulations, c_puct)[0]
