"""Pages for a browser: one self-contained HTML file each, made from templates that escape every value.

A page carries its own style and script and asks for nothing from outside; its content security policy holds it to that. Only
the script whose digest the policy names can run, so no text of a submission ever becomes a program.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from common.harmless_text import on_screen


def without_control_characters(value: Any) -> Any:
    """Remove control characters from a text, because a program's output may contain them; return other values unchanged."""
    return on_screen(value, keep="\n") if isinstance(value, str) and not hasattr(value, "__html__") else value


@cache  # the environment keeps compiled templates
def template_environment(*folders: Path) -> jinja2.Environment:
    """Return an environment for the templates in these folders; it escapes every value and removes control characters."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=without_control_characters,
    )


def policy_for(script: str) -> str:
    """Return the content security policy of a page whose only script is this one; an empty script allows none."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    scripts = f"script-src 'sha256-{digest}'; " if script else ""
    return f"default-src 'none'; {scripts}style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
