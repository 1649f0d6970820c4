"""The settings of the run that trained a file of weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def settings_of_run(weights: Path) -> dict[str, Any]:
    """Return the latest settings of a file's run, from its manifest or from the folder of the run; none if it has neither.

    Args:
        weights: an exported file (`training.export_run`), `best.model`, or a file in `networks/` of a run.
    """
    try:
        manifest = json.loads(weights.with_suffix(".json").read_text(encoding="utf-8"))
        return {name: value for settings in manifest["configurations"] for name, value in settings.items()}
    except (OSError, ValueError, KeyError):
        pass
    for folder in (weights.parent, weights.parent.parent):
        try:
            return dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue
    return {}
