"""Writes the reference part of docs/registry.md, settings and routes: python -m stoker.registry.document docs/registry.md."""

import sys
from pathlib import Path
from typing import Final

from stoker.registry.config import SETTINGS
from stoker.registry.http.routes import ROUTES

HEADING: Final = "## Reference\n"


def reference() -> str:
    """The part of the page from its heading on."""
    return "\n".join([HEADING, _settings(), _routes()])


def _settings() -> str:
    lines = ["### Settings\n", "| setting | default | what it is |", "|---|---|---|"]
    lines += [
        f"| `{name}` | {f'`{setting.default}`' if setting.default else ''} | {setting.explanation} |"
        for name, setting in SETTINGS.items()
    ]
    return "\n".join(lines) + "\n"


def _routes() -> str:
    lines = ["### Routes\n", "| | path | what it does | parameters |", "|---|---|---|---|"]
    for route in ROUTES:
        summary = (route.handler.__doc__ or "").strip().partition("\n")[0]
        parameters = ", ".join(f"`{each.name}`" for each in route.query)
        lines.append(f"| {route.method} | `{route.path}` | {summary} | {parameters} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    page = Path(sys.argv[1])
    guide, _, _ = page.read_text().partition(HEADING)
    page.write_text(guide + reference())
