"""The tree as arrays [node, action] in float64; node 0 is the root."""

import numpy as np
import torch

from labs.muzero.given.games import SearchResult


def softmax(x):
    e = np.exp(x - np.max(x))
    return e / e.sum()


def search(model, board, n_simulations=25, c_puct=1.25):
    A, rows = model.actions, n_simulations + 1
    prior, total, reward = np.zeros((rows, A)), np.zeros((rows, A)), np.zeros((rows, A))
    count, child = np.zeros((rows, A), dtype=int), np.full((rows, A), -1)
    states = []
    extremes = []  # all q so far

    def add(state, legal=None):
        with torch.no_grad():
            logits, value = model.predict(state)
        row, logits = len(states), logits.double().numpy().reshape(-1)
        if legal is None:
            prior[row] = softmax(logits)
        else:
            prior[row] = softmax(np.where(legal, logits, -np.inf))
        states.append(state)
        return row, float(value)

    legal = np.isin(np.arange(A), board.availables)
    planes = np.ascontiguousarray(board.current_state(), dtype=np.float32)
    with torch.no_grad():
        add(model.represent(torch.from_numpy(planes).unsqueeze(0)), legal)
    outcome = 0.0
    for _ in range(n_simulations):
        node, path = 0, []
        while True:
            low, high = (min(extremes), max(extremes)) if extremes else (0.0, 0.0)
            n = count[node]
            q = np.divide(total[node], n, out=np.zeros(A), where=n > 0)
            score = np.where(n > 0, (q - low) / max(high - low, 1e-5), 0.0)
            score += c_puct * prior[node] * (1 + n.sum()) ** 0.5 / (1 + n)
            if node == 0:
                score[~legal] = -1.0
            action = int(np.argmax(score))
            path.append((node, action))
            if child[node, action] < 0:
                break
            node = child[node, action]
        with torch.no_grad():
            state, r = model.dynamics(states[node], torch.LongTensor([action]))
        reward[node, action] = float(r)
        child[node, action], G = add(state)
        for s, a in reversed(path):
            G = reward[s, a] - G
            total[s, a] += G
            count[s, a] += 1
        extremes += [total[s, a] / count[s, a] for s, a in path]
        outcome += G
    visits = torch.from_numpy(count[0])
    return SearchResult(visits=visits, value=torch.tensor(outcome / n_simulations), move=visits.argmax())
