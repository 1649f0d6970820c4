"""The layout of every reply that a worker can give; the trusted side checks it before it reads a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Layout(Protocol):
    """What a decoded value must look like."""

    def fits(self, value: Any) -> bool:
        """Return whether the value has this layout."""
        ...


@dataclass(frozen=True)
class Plain:
    """A value of one of these types."""

    types: tuple[type, ...]

    def fits(self, value: Any) -> bool:
        return isinstance(value, self.types)


@dataclass(frozen=True)
class ListOf:
    """A list of any length whose items all have the same layout."""

    item: Layout

    def fits(self, value: Any) -> bool:
        return isinstance(value, list) and all(map(self.item.fits, value))


@dataclass(frozen=True)
class Row:
    """A list of fixed length whose items each have their own layout."""

    items: tuple[Layout, ...]

    def fits(self, value: Any) -> bool:
        return (
            isinstance(value, list)
            and len(value) == len(self.items)
            and all(layout.fits(item) for layout, item in zip(self.items, value, strict=True))
        )


@dataclass(frozen=True)
class Record:
    """A dict with exactly these keys."""

    fields: Mapping[str, Layout]

    def fits(self, value: Any) -> bool:
        return (
            isinstance(value, dict)
            and value.keys() == self.fields.keys()
            and all(layout.fits(value[key]) for key, layout in self.fields.items())
        )


@dataclass(frozen=True)
class MapOf:
    """A dict with any keys whose values all have the same layout."""

    value: Layout

    def fits(self, value: Any) -> bool:
        return isinstance(value, dict) and all(map(self.value.fits, value.values()))


@dataclass(frozen=True)
class Either:
    """A value that has one of these layouts."""

    layouts: tuple[Layout, ...]

    def fits(self, value: Any) -> bool:
        return any(layout.fits(value) for layout in self.layouts)


ARRAY, WHOLE, NUMBER, TEXT = Plain((np.ndarray,)), Plain((int,)), Plain((int, float)), Plain((str,))
FRACTION, FLAG, NOTHING = Plain((float,)), Plain((bool,)), Plain((type(None),))
TREE = Record(dict.fromkeys(("parent", "move", "visits", "value", "prior"), ARRAY))
STEP: dict[str, Layout] = {"move": WHOLE, "probs": Plain((np.ndarray, type(None))), "tree": TREE}
NEW_ROOT = Record({"tree": TREE, "has_parent": FLAG})
UPDATES = Record({"searched": TREE, "move": WHOLE, "unknown": NEW_ROOT, "reset": NEW_ROOT, "kept": NEW_ROOT})
HEADS = Row((ARRAY, ARRAY))
EVALUATION = Row((ListOf(Row((WHOLE, NUMBER))), NUMBER))  # moves with priors, and the value
FAULT = Record({"type": TEXT, "message": TEXT, "place": TEXT, "ours": FLAG})

PARAMETER_GROUP = Record(
    {"lr": FRACTION, "weight_decay": FRACTION, "eps": FRACTION, "decoupled": FLAG, "gradients": MapOf(ARRAY)}
)

VALUES = MapOf(ARRAY)  # of a board, by the names of its attributes and methods

REPLIES: dict[str, Layout] = {
    "follow": ListOf(Record({"seen": ListOf(VALUES), "fault": TEXT})),
    "play_on": Record({"moves": ListOf(WHOLE), "seen": ListOf(VALUES)}),
    "copies": MapOf(VALUES),
    "refusals": ListOf(Record({"raised": TEXT, "before": VALUES, "after": VALUES, "later": ListOf(VALUES)})),
    "run_cell": TEXT,
    "search": Record({**STEP, "finished": WHOLE}),
    "choose": ListOf(Record({"move": WHOLE, "moves": ARRAY, "visits": ARRAY})),
    "self_play": ListOf(Record(STEP)),
    "advance": Either((UPDATES, NOTHING)),  # nothing if the updates could not be tried
    "model_layout": MapOf(ListOf(WHOLE)),
    "net_create": NOTHING,
    "net_forward": HEADS,
    "net_forward_changed": MapOf(HEADS),
    "net_layers": ListOf(Row((TEXT, ListOf(WHOLE), NUMBER, NUMBER, NUMBER))),
    "net_policy_value": HEADS,
    "net_policy_value_fn": EVALUATION,
    "net_random_symmetries": ListOf(EVALUATION),
    "net_train": ListOf(ListOf(NUMBER)),
    "net_gradients": MapOf(ARRAY),
    "net_optimiser_steps": ListOf(ListOf(PARAMETER_GROUP)),
    "net_weights": MapOf(ARRAY),
    "train_start": MapOf(ARRAY),
    "train_games": NOTHING,
    "train_play": Record(dict.fromkeys(("states", "probs", "winners"), ARRAY)),
    "train_steps": ListOf(MapOf(ARRAY)),
}
"""Operation of `grader.confinement.worker` -> the layout of the value that it returns."""
