"""Settings that were renamed, so that the folders of earlier runs can still be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Old name -> current name.
RENAMED = {"learn_rate": "learning_rate"}


def with_current_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return recorded settings under their current names.

    Args:
        settings: name -> value, possibly written by an earlier version.
    """
    return {RENAMED.get(name, name): value for name, value in settings.items()}
