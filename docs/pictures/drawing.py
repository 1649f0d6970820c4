"""Small SVG pictures: text stays text, and the colours follow a light or a dark theme of the reader."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

COLOURS = {  # name: light, dark
    "ink": ("#1f2328", "#e6edf3"),
    "soft": ("#59636e", "#a0aab5"),
    "edge": ("#9aa4ae", "#6b7580"),
    "paper": ("#ffffff", "#0d1117"),
    "fill": ("#eef2f6", "#1e2630"),
    "accent": ("#0a5fc4", "#6cb2ff"),
    "good": ("#1a7f37", "#56d364"),
    "bad": ("#c2252f", "#ff8580"),
    "wood": ("#f0d9a8", "#5b4a2a"),
}
LIGHT, DARK = (";".join(f"--{name}:{pair[theme]}" for name, pair in COLOURS.items()) for theme in (0, 1))
STYLE = f"""
.pic{{{LIGHT}}}
@media (prefers-color-scheme:dark){{.pic{{{DARK}}}}}
.pic text{{font-family:system-ui,"Segoe UI","Noto Sans","Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif}}
.pic .mono{{font-family:ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}}
"""
ARROWS = ("ink", "accent", "soft", "bad", "good")


class Drawing:
    """A picture under construction; coordinates count pixels from the top left corner.

    Colours are the names in COLOURS.

    Args:
        width, height: of the picture.
        title: one sentence for readers who cannot see it.
    """

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []
        self._arrows: set[str] = set()

    def text(
        self,
        x: float,
        y: float,
        content: str,
        *,
        size: float = 14,
        colour: str = "ink",
        anchor: str = "middle",
        style: str = "",
    ) -> None:
        """Write a line of text; y is its middle, and `style` may hold `mono` and `bold`."""
        mono = ' class="mono"' if "mono" in style else ""
        bold = ' font-weight="600"' if "bold" in style else ""
        self._parts.append(
            f'<text x="{x:g}" y="{y + size * 0.35:g}" font-size="{size:g}" text-anchor="{anchor}"'
            f'{mono}{bold} fill="var(--{colour})" xml:space="preserve">{escape(content)}</text>'
        )

    def rect(
        self, x: float, y: float, width: float, height: float, *, fill: str = "fill", edge: str = "edge", round_by: float = 6
    ) -> None:
        """Draw a box."""
        self._parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_by:g}"'
            f' fill="var(--{fill})" stroke="var(--{edge})" stroke-width="1.5"/>'
        )

    def circle(self, x: float, y: float, radius: float, *, fill: str = "fill", edge: str = "edge") -> None:
        """Draw a disc."""
        self._parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="var(--{fill})" stroke="var(--{edge})" stroke-width="1.5"/>'
        )

    def line(
        self,
        points: Sequence[tuple[float, float]],
        *,
        colour: str = "edge",
        width: float = 1.5,
        arrow: bool = False,
        dashed: bool = False,
    ) -> None:
        """Draw a line through points, if asked with an arrow at its end."""
        end = f' marker-end="url(#to-{colour})"' if arrow else ""
        if arrow:
            self._arrows.add(colour)
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(
            f'<polyline points="{path}" fill="none" stroke="var(--{colour})" stroke-width="{width:g}"{end}{dashes}/>'
        )

    def area(self, points: Sequence[tuple[float, float]], *, colour: str) -> None:
        """Fill what a closed line encloses, so thinly that what is behind it can be seen."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        self._parts.append(f'<polygon points="{path}" fill="var(--{colour})" fill-opacity="0.18"/>')

    def box(self, x: float, y: float, width: float, height: float, lines: list[str], *, edge: str = "edge") -> None:
        """Draw a box with centred lines of text, the first of them bold."""
        self.rect(x, y, width, height, edge=edge)
        step = 18
        top = y + height / 2 - step * (len(lines) - 1) / 2
        for number, content in enumerate(lines):
            style = "bold" if number == 0 else ""
            self.text(x + width / 2, top + step * number, content, size=14 if number == 0 else 12.5, style=style)

    def stone(self, x: float, y: float, radius: float, *, black: bool) -> None:
        """Draw a stone, which is black or white in every theme."""
        colour = "#111" if black else "#fff"
        self._parts.append(f'<circle cx="{x:g}" cy="{y:g}" r="{radius:g}" fill="{colour}" stroke="#666" stroke-width="1.2"/>')

    def svg(self) -> str:
        """Return the picture as a document."""
        markers = "".join(
            f'<marker id="to-{colour}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="var(--{colour})"/></marker>'
            for colour in ARROWS
            if colour in self._arrows
        )
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="pic" viewBox="0 0 {self.width:g} {self.height:g}"'
            f' width="{self.width:g}" height="{self.height:g}" role="img" aria-label="{escape(self.title)}">'
        )
        frame = f'<rect width="{self.width:g}" height="{self.height:g}" fill="var(--paper)"/>'
        body = [head, f"<title>{escape(self.title)}</title>", f"<style>{STYLE}</style>", f"<defs>{markers}</defs>", frame]
        return "\n".join([*body, *self._parts, "</svg>"]) + "\n"
