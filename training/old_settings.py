"""Settings that were renamed, so that the folders of earlier runs can still be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Old name -> the name that it has now.
RENAMED = {"learn_rate": "learning_rate"}


def with_current_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Recorded settings under the names that they have now.

    Args:
        settings: name -> value, as an earlier version may have written them.
    """
    return {RENAMED.get(name, name): value for name, value in settings.items()}
