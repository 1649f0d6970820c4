"""Fonts of the window: a plain face of the system, and one with Chinese signs where Chinese is wanted."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pygame

from common.errors import UsageError

LATIN = ("notosans", "segoeui", "helveticaneue", "ubuntu", "liberationsans", "arial", "dejavusans")
CHINESE = (
    "notosanscjksc", "notosanscjktc", "notosanssc", "sourcehansanssc", "sourcehansanscn", "wenquanyimicrohei", "wqymicrohei",
    "wenquanyizenhei", "wqyzenhei", "microsoftyahei", "pingfangsc", "hiraginosansgb", "stheiti", "simhei", "dengxian", "simsun",
    "droidsansfallback", "arplumingcn", "arplukaicn",
)  # fmt: skip
SIGNATURES = (b"\0\1\0\0", b"OTTO", b"true", b"ttcf")
PROBE = "棋黑白获胜"
UNASSIGNED = "\u0378"  # no font has this sign; a sign that a font lacks looks the same


def find_font(language: str, chosen: str | None = None) -> str | None:
    """Return the file of a font that can write the language, or None for pygame's own font.

    Args:
        chosen: a file that the person named.

    Raises:
        UsageError: the file cannot be read as a font, or no font on this machine has Chinese signs.
    """
    pygame.font.init()
    if chosen is not None:
        if not Path(chosen).is_file() or not _opens(chosen):
            raise UsageError(f"expected a font (.ttf, .otf or .ttc) at {chosen}; it cannot be read as one")
        if language == "zh" and not _writes(chosen, PROBE):
            raise UsageError(f"expected a font with Chinese characters; {chosen} has none: name another with --font")
        return chosen
    if language == "zh":
        found = next((path for name in CHINESE if (path := pygame.font.match_font(name)) and _writes(path, PROBE)), None)
        if found is None:
            raise UsageError(
                "expected a font with Chinese characters and found none, so the window is in English: "
                "install one (Debian, Ubuntu: apt-get install fonts-noto-cjk) or name one with --font"
            )
        return found
    return next((path for name in LATIN if (path := pygame.font.match_font(name))), None)


def bold_of(path: str | None) -> str | None:
    """Return the file of a font of ours in bold; None if there is none or the font is another one."""
    name = next((name for name in LATIN if path is not None and pygame.font.match_font(name) == path), None)
    return pygame.font.match_font(name, bold=True) if name else None


def _opens(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            if file.read(4) not in SIGNATURES:  # pygame may use its own font if the file is not a font
                return False
        pygame.font.Font(path, 12)
    except (pygame.error, OSError, RuntimeError):
        return False
    return True


def _writes(path: str, signs: str) -> bool:
    """Whether a font has these signs."""
    if not _opens(path):
        return False
    font = pygame.font.Font(path, 24)
    unknown, *drawn = (pygame.image.tobytes(font.render(sign, True, (0, 0, 0)), "RGBA") for sign in (UNASSIGNED, *signs))
    return unknown not in drawn


class Pen:
    """Writes words onto surfaces, and keeps what it has drawn.

    Args:
        path: the font's file; None for pygame's own.
        bold: the file of the same font in bold, or None to write everything in the one font.
    """

    def __init__(self, path: str | None, bold: str | None = None) -> None:
        self._path, self._bold = path, bold or path
        self._drawn: dict[tuple[str, int, tuple[int, ...], bool], pygame.Surface] = {}

    @cache  # noqa: B019 - a pen lives as long as its window
    def font(self, size: int, bold: bool = False) -> pygame.font.Font:
        """Return the font with letters of about `size` pixels."""
        return pygame.font.Font(self._bold if bold else self._path, max(6, size))

    def picture(self, text: str, size: int, colour: tuple[int, ...], bold: bool = False) -> pygame.Surface:
        """Return a line of text as a picture."""
        key = (text, size, colour, bold)
        if key not in self._drawn:
            if len(self._drawn) > 2000:
                self._drawn.clear()
            self._drawn[key] = self.font(size, bold).render(text, True, colour)
        return self._drawn[key]

    def width(self, text: str, size: int, bold: bool = False) -> int:
        """Return the width of a line of text in pixels."""
        return self.font(size, bold).size(text)[0]

    def lines(self, text: str, size: int, width: int, most: int, bold: bool = False) -> list[str]:
        """Break a text into at most `most` lines of this width; what does not fit is left out, with an ellipsis.

        Words are broken only if they are wider than a line; Chinese is broken between any two signs.
        """
        lines, line = [], ""
        for piece in _pieces(text):
            if self.width((line + piece).rstrip(), size, bold) <= width or not line:
                line += piece
            else:
                lines.append(line.rstrip())
                line = piece.lstrip()
            while self.width(line, size, bold) > width and len(line) > 1:
                kept = next(n for n in range(len(line) - 1, 0, -1) if n == 1 or self.width(line[:n], size, bold) <= width)
                lines.append(line[:kept])
                line = line[kept:]
        lines.append(line.rstrip())
        if len(lines) > most:
            last = lines[most - 1]
            while last and self.width(last + "…", size, bold) > width:
                last = last[:-1]
            lines = [*lines[: most - 1], last + "…"]
        return [line for line in lines if line]


def _pieces(text: str) -> list[str]:
    """Split a text where a line may end: after a space, and around each Chinese sign."""
    pieces, word = [], ""
    for sign in text:
        wide = ord(sign) > 0x2E7F
        word += sign
        if sign == " " or wide:
            pieces.append(word)
            word = ""
    return [*pieces, word] if word else pieces
