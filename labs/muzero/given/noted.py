"""What the submission's search returns while its reanalyse runs, so that a check can judge reanalyse by it."""

from __future__ import annotations

import importlib
import sys
from numbers import Number
from types import ModuleType
from typing import Any

import numpy as np

from labs.muzero.given.arrays import one_number, plain
from labs.muzero.given.games import Game, Root, SearchResult


class NotedSearches:
    """The submission's search, which notes its results while a game is reanalysed; a context manager.

    Where the search cannot be imported, raises an exception or makes no simulations, drawn results take the place of its own.
    So a mistake in search.py costs nothing here: reanalyse is judged by what the searches returned to it.

    Args:
        game: the game that is reanalysed.
        passed: the model, n_simulations and c_puct that reanalyse was given, and should pass on.

    Attributes:
        positions [C]: the move before which each search was made, or -1 for no position of the game.
        passed_on [C, 3]: whether the search got the model, n_simulations and c_puct that reanalyse was given.
        visits [C, A], values [C]: what the search returned.
    """

    def __init__(self, game: Game, passed: tuple[Any, int, float]) -> None:
        self._game, self._passed = game, passed
        self._length = len(game.moves)
        self._calls: list[tuple[int, list[bool], np.ndarray, np.ndarray]] = []
        self._own: Any = None
        self._noting = self._search  # one object, which a name of a module can be compared with

    def __enter__(self) -> NotedSearches:
        try:
            module: Any = importlib.import_module("MuZero.search")
        except Exception as error:
            module = sys.modules["MuZero.search"] = _without(error)
        self._own = vars(module).get("search")
        module.search = self._noting
        try:
            importlib.import_module("MuZero.reanalysis")
        except BaseException:
            self.__exit__()
            raise
        self._rename(self._own, self._noting)
        return self

    def __exit__(self, *_: object) -> None:
        self._rename(self._noting, self._own)
        if self._own is None:
            sys.modules.pop("MuZero.search", None)
            sys.modules.pop("MuZero.reanalysis", None)

    def _rename(self, old: Any, new: Any) -> None:
        """Put one function in the place of another, wherever a module of the submission has it by a name."""
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] == "MuZero":
                for key in [key for key, value in vars(module).items() if value is old is not None]:
                    setattr(module, key, new)

    def _search(self, *given: Any, **named: Any) -> Any:
        arguments = [*given, *named.values()]
        root = next((each for each in arguments if isinstance(each, Root)), None)
        t = next((t for t in range(self._length) if root is not None and _are_same(self._game.root(t), root)), -1)
        model, *settings = self._passed
        numbers = [each for each in arguments if isinstance(each, Number)]
        passed_on = [any(each is model for each in arguments), *(each in numbers for each in settings)]
        try:
            result = self._own(*given, **named)
            visits, value = plain(result.visits), one_number(result.value, "SearchResult.value")
            if visits.shape != (model.actions,) or not visits.sum() > 0 or not np.isfinite([*visits, value]).all():
                raise ValueError("the search returned no visits")
        except Exception:  # whatever it is, the checks of the search tell it
            result = self._drawn(max(t, 0))
            visits, value = plain(result.visits), plain(result.value)
        self._calls.append((t, passed_on, visits, value))
        return result

    def _drawn(self, t: int) -> SearchResult:
        rng, legal = np.random.default_rng(t), self._game.legal[t]
        visits = rng.multinomial(self._passed[1], rng.dirichlet(np.ones(len(legal))[legal]))
        spread = np.zeros(len(legal))
        spread[legal] = visits
        return SearchResult(spread, float(rng.uniform(-0.9, 0.9)), int(spread.argmax()))

    @property
    def positions(self) -> np.ndarray:
        return np.array([t for t, *_ in self._calls], dtype=int)

    @property
    def passed_on(self) -> np.ndarray:
        return np.array([passed_on for _, passed_on, *_ in self._calls], dtype=float).reshape(-1, len(self._passed))

    @property
    def visits(self) -> np.ndarray:
        return np.array([visits for *_, visits, _ in self._calls]).reshape(-1, self._game.legal.shape[1])

    @property
    def values(self) -> np.ndarray:
        return np.array([value for *_, value in self._calls], dtype=float)


def _without(error: Exception) -> ModuleType:
    """Return an empty module that tells why it is empty when anything but `search` is imported from it."""

    def missing(name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else error

    module = ModuleType("MuZero.search")
    module.__getattr__ = missing  # type: ignore[method-assign]
    return module


def _are_same(one: Root, other: Root) -> bool:
    return one.availables == other.availables and np.array_equal(one.current_state(), other.current_state())
