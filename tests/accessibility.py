"""An audit of pages for people who use a keyboard, a screen reader or large letters: axe-core in a real browser."""

import sys
from pathlib import Path

import browser
import pytest

AXE = Path(sys.prefix) / "node/node_modules/axe-core/axe.min.js"
MISSING = browser.missing() or ("" if AXE.is_file() else "axe-core is not installed: make test fetches it with npm")
needs_axe = pytest.mark.skipif(bool(MISSING), reason=MISSING)
SCREENS = tuple((width, dark) for width in (390, 1200) for dark in (False, True))
SERIOUS = ("serious", "critical")


def serious_findings(*pages, click=()):
    """Return what axe-core finds serious or critical on a phone and a desktop, light and dark: one sentence for each rule.

    Args:
        pages: the files.
        click: selectors of what to click on first, where the page has it, so that hidden parts are examined too.
    """
    found = []
    with browser.browser() as window:
        for page in pages:
            for width, dark in SCREENS:
                window.view_as(width, 900, dark)
                window.open(Path(page).as_uri())
                for selector in click:
                    for element in window.find(selector)[:1]:
                        window.click(element)
                window.run(AXE.read_text(encoding="utf-8"))
                result = window.run(
                    "return axe.run().then(({ violations, passes }) => ({ violations, passed: passes.length }))"
                )
                assert result["passed"], f"axe-core found nothing to examine in {page}"
                for finding in result["violations"]:
                    if finding["impact"] in SERIOUS:
                        where = ", ".join(f"{node['target']} {node['failureSummary']}" for node in finding["nodes"][:3])
                        found.append(f"{Path(page).name} {width} {'dark' if dark else 'light'}: {finding['id']} at {where}")
    return found
