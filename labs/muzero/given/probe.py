"""How the checks call a submission: each class makes some calls and keeps the results as arrays of numbers.

This module runs in the worker, beside the code of the submission. It knows no expected values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from labs.muzero.given.arrays import one_number, plain
from labs.muzero.given.games import NOBODY, Batch, Game, Loss, Root, SearchResult, Targets
from labs.muzero.given.noted import NotedSearches
from labs.muzero.given.sine_model import SineModel

Arrays = Mapping[str, np.ndarray]
TAUGHT = ("observe", "act", "reward_head")
LOSS_FIELDS = ("total", "policy", "value", "reward")
GAME_FIELDS = ("planes", "legal", "moves", "players", "policies")


def model_with(sizes: list[int], weights: Arrays) -> Any:
    """Return the submission's Model of sizes (P, H, W, D, hidden) with these weights."""
    from MuZero.model import Model

    planes, height, width, latent, hidden = sizes
    return loaded(Model(planes, height, width, latent=latent, hidden=hidden), weights)


def loaded(model: Any, weights: Arrays) -> Any:
    """Return the model with these weights; whatever else it holds, such as buffers and frozen parameters, stays.

    Raises:
        TypeError: the weights that the model learns have other names.
    """
    learnt = {name for name, tensor in model.named_parameters() if tensor.requires_grad}
    if learnt != set(weights):
        more, less = sorted(learnt - set(weights)), sorted(set(weights) - learnt)
        raise TypeError(f"the weights of the model must be those of the layers in the stub; too many: {more}, missing: {less}")
    model.load_state_dict({**model.state_dict(), **{name: torch.as_tensor(array) for name, array in weights.items()}})
    return model


def sine_model(sizes: list[int], weights: Arrays) -> SineModel:
    """Return a SineModel of sizes (P, H, W, D) with these weights."""
    model: SineModel = loaded(SineModel(*sizes), weights)
    return model


def expect_type(value: Any, kind: type, what: str) -> None:
    """Raise TypeError unless a function of the submission returned what the handout says."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} must return a {kind.__name__}; it returned a {type(value).__name__}")


class Scaled:
    """The result of scaled_to_unit."""

    def __init__(self, latents: np.ndarray) -> None:
        from MuZero.model import scaled_to_unit

        self.result = plain(scaled_to_unit(torch.as_tensor(latents)))


class Unrolled:
    """The model along actions [N, K]: latents [K + 1, N, D], rewards [K, N], logits [K + 1, N, A], values [K + 1, N].

    `taught` says which of the networks TAUGHT the gradient of the last rewards reaches.
    """

    def __init__(self, sizes: list[int], weights: Arrays, planes: np.ndarray, actions: np.ndarray) -> None:
        model = model_with(sizes, weights)
        last_rewards = self._unroll(model, torch.as_tensor(planes), torch.as_tensor(actions))
        if isinstance(last_rewards, torch.Tensor) and last_rewards.requires_grad:
            last_rewards.sum().backward()
        networks = [getattr(model, name) for name in TAUGHT]
        self.taught = plain([any(w.grad is not None and bool(w.grad.any()) for w in each.parameters()) for each in networks])

    def _unroll(self, model: Any, planes: torch.Tensor, actions: torch.Tensor) -> Any:
        """Keep the predictions as arrays and return the rewards of the last step as they are."""
        latents, rewards = [model.represent(planes)], []
        for k in range(actions.shape[1]):
            following = model.dynamics(latents[-1], actions[:, k])
            if not isinstance(following, (tuple, list)) or len(following) != 2:
                raise TypeError("dynamics must return two tensors, the next latent states and the rewards")
            latents.append(following[0])
            rewards.append(plain(following[1]))
        heads = [model.predict(each) for each in latents]
        self.latents = np.stack([plain(each) for each in latents])
        self.rewards = np.stack(rewards)
        self.logits = np.stack([plain(logits) for logits, _ in heads])
        self.values = np.stack([plain(values) for _, values in heads])
        return following[1]


class Targeted:
    """The targets of one position, and whether the game has stayed as it was."""

    def __init__(self, game: Arrays, winner: int, start: int, unroll_steps: int, seed: int) -> None:
        from MuZero.targets import make_targets

        told = Game(**game, winner=winner)
        kept = {name: plain(getattr(told, name)).copy() for name in GAME_FIELDS}
        targets = make_targets(told, start, unroll_steps, np.random.default_rng(seed))
        self.is_kept = all(np.array_equal(plain(getattr(told, name)), array) for name, array in kept.items())
        expect_type(targets, Targets, "make_targets")
        self.moves, self.policies = plain(targets.moves), plain(targets.policies)
        self.values, self.rewards = plain(targets.values), plain(targets.rewards)


class Lost:
    """The loss of one batch with its parts, and the gradient of each parameter, one after the other."""

    def __init__(self, sizes: list[int], weights: Arrays, batch: Arrays) -> None:
        from MuZero.loss import unrolled_loss

        model = sine_model(sizes, weights)
        loss = unrolled_loss(model, Batch(**{name: torch.as_tensor(array) for name, array in batch.items()}))
        expect_type(loss, Loss, "unrolled_loss")
        self.parts = np.stack([one_number(getattr(loss, name), f"Loss.{name}") for name in LOSS_FIELDS])
        if not (isinstance(loss.total, torch.Tensor) and loss.total.requires_grad):
            raise ValueError("the total loss has no gradient; do not turn it into a number before you return it")
        loss.total.backward()
        gradients = {name: w.grad if w.grad is not None else torch.zeros_like(w) for name, w in model.named_parameters()}
        self.gradient = np.concatenate([plain(gradients[name]).reshape(-1) for name in sorted(gradients)])


class TalkativeRoot(Root):
    """A root that also answers what MuZero may not ask, as a board on which nobody has won and no stone is known.

    So a search that asks too much costs only the check of the board.
    """

    players = (1, 2)
    current_player, last_move = 1, -1
    states: Mapping[int, int] = {}

    def copy(self) -> TalkativeRoot:
        """Return a copy."""
        return TalkativeRoot(self._planes, self._availables)

    def __copy__(self) -> TalkativeRoot:  # type: ignore[override]
        return self.copy()

    def __deepcopy__(self, memo: object) -> TalkativeRoot:  # type: ignore[override]
        return self.copy()

    def get_current_player(self) -> int:
        """Return the player to move."""
        return self.current_player

    def has_a_winner(self) -> tuple[bool, int]:
        """Return that nobody has won."""
        return False, NOBODY

    def game_end(self) -> tuple[bool, int]:
        """Return that the game goes on."""
        return False, NOBODY


class Searched:
    """The result of one search, and the nodes that it added: for each its parent (0 is the root) and its action, [M, 2].

    A node is known by its latent state; a parent with any other latent state is -1.

    Args:
        is_strict: whether the board refuses what MuZero may not ask.
    """

    def __init__(
        self,
        sizes: list[int],
        weights: Arrays,
        planes: np.ndarray,
        availables: np.ndarray,
        n_simulations: int,
        c_puct: float,
        is_strict: bool = False,
    ) -> None:
        from MuZero.search import search

        model = sine_model(sizes, weights)
        numbers = {tuple(model.represent(torch.as_tensor(planes)[None])[0].tolist()): 0}
        nodes, dynamics = dict[tuple[int, int], None](), model.dynamics

        def noted(latents: torch.Tensor, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            following, rewards = dynamics(latents, actions)
            starts = latents.expand_as(following).tolist()  # one latent state for several actions, too
            taken = torch.as_tensor(actions).reshape(-1).expand(len(following)).tolist()
            for before, action, after in zip(starts, taken, following.tolist(), strict=True):
                nodes[numbers.get(tuple(before), -1), action] = None
                numbers.setdefault(tuple(after), len(nodes))
            return following, rewards

        model.dynamics = noted  # type: ignore[method-assign]
        root = (Root if is_strict else TalkativeRoot)(planes, availables.tolist())
        result = search(model, root, n_simulations, c_puct)
        expect_type(result, SearchResult, "search")
        self.nodes = np.array([*nodes]).reshape(-1, 2)
        self.visits, self.move = plain(result.visits), int(result.move)
        self.value = one_number(result.value, "SearchResult.value")


class Reanalysed:
    """A game after reanalysis, the old game as reanalysis left it, and what the searches returned meanwhile."""

    def __init__(self, sizes: list[int], weights: Arrays, game: Arrays, winner: int, n_simulations: int, c_puct: float) -> None:
        old = Game(**{name: array.copy() for name, array in game.items()}, winner=winner)
        model = sine_model(sizes, weights)
        with NotedSearches(old, (model, n_simulations, c_puct)) as noted:
            from MuZero.reanalysis import reanalyse

            new = reanalyse(old, model, n_simulations, c_puct)
        expect_type(new, Game, "reanalyse")
        self.searched, self.passed_on = noted.positions, noted.passed_on
        self.searched_visits, self.searched_values = noted.visits, noted.values
        self.winners = np.array([new.winner, old.winner])
        for name in GAME_FIELDS:
            setattr(self, name, plain(getattr(new, name)))
            setattr(self, f"old_{name}", plain(getattr(old, name)))
        self.values = plain([] if new.values is None else new.values)
        self.old_has_values = int(old.values is not None)


class Trained(Unrolled):
    """A model of tic-tac-toe, trained in this process: its weights, and what it predicts along some games."""

    def __init__(self, seed: int, planes: np.ndarray, actions: np.ndarray) -> None:
        from labs.muzero.given.training import Settings, train

        model = train(Settings(), seed)
        self._unroll(model, torch.as_tensor(planes), torch.as_tensor(actions))
        self._weights = {name: plain(tensor) for name, tensor in model.named_parameters() if tensor.requires_grad}

    @property
    def weights(self) -> np.ndarray:
        """All weights that were learnt, one after the other in the order of their names."""
        return np.concatenate([self._weights[name].reshape(-1) for name in sorted(self._weights)])
