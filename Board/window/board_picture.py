"""Draws the board: wood and grid, stones or crosses and rings, marks, and what a search says about each point."""

from __future__ import annotations

from collections.abc import Sequence

import pygame

from Board.window import shapes
from Board.window.fonts import Pen
from Board.window.layout import Layout
from Board.window.scene import Mark, Scene

TABLE = (233, 228, 219)  # under the board
GRID, PAPER, PENCIL, DARK_PENCIL = (92, 62, 28), (252, 249, 242), (196, 188, 174), (122, 112, 98)
CROSS, RING = (52, 84, 136), (188, 84, 52)
RED, GREEN, BLUE, HINT = (204, 52, 40), (44, 138, 76), (38, 100, 178), (30, 132, 84)
INK, PALE = (36, 32, 28), (250, 248, 244)
CELL_WON = (250, 226, 160)
LEGIBLE = 10  # the smallest size of a search's numbers; where they do not fit, the discs stand alone


class BoardPicture:
    """The board of one layout; the empty board and the stones are kept between frames.

    Args:
        layout: the places of the window.
        pen: writes coordinates and numbers.
        names: the coordinates of the columns and of the rows.
    """

    def __init__(self, layout: Layout, pen: Pen, names: tuple[Sequence[str], Sequence[str]]) -> None:
        self.layout, self.pen, self._names = layout, pen, names
        self._empty: dict[bool, pygame.Surface] = {}
        self._with_stones: tuple[object, pygame.Surface] | None = None

    def draw(self, screen: pygame.Surface, scene: Scene) -> None:
        """Draw the board and everything on it; the rest of the window is covered with the table's colour."""
        screen.blit(self._stones_layer(scene), (0, 0))
        if scene.pointed is not None:
            self._ghost(screen, *scene.pointed, opacity=120)
        for number, (point, colour) in enumerate(scene.line, start=1):
            self._ghost(screen, point, colour, opacity=190)
            self._write(screen, point, str(number), self._ink(colour))
        for mark in scene.marks:
            self._mark(screen, mark)
        if scene.hint is not None:
            radius = self.layout.unit * (0.40 if self.layout.is_cells else 0.43)
            shapes.put(screen, shapes.disc(radius, HINT, 60), self.layout.centre_of(*scene.hint))
            thick = radius / (12 if self.layout.is_cells else 6)
            shapes.put(screen, shapes.ring(radius, max(2, thick), HINT), self.layout.centre_of(*scene.hint))

    # ------------------------------------------------------------------------------------------ what is kept

    def _stones_layer(self, scene: Scene) -> pygame.Surface:
        key = (scene.stones, scene.numbers, scene.last, scene.won, scene.territory, scene.coordinates)
        if self._with_stones is None or self._with_stones[0] != key:
            layer = self._empty_board(scene.coordinates).copy()
            self._draw_stones(layer, scene)
            self._with_stones = (key, layer)
        return self._with_stones[1]

    def _empty_board(self, coordinates: bool) -> pygame.Surface:
        if coordinates not in self._empty:
            layer = pygame.Surface(self.layout.size)
            layer.fill(TABLE)
            self._draw_wood(layer)
            (self._draw_cells if self.layout.is_cells else self._draw_grid)(layer)
            if coordinates:
                self._draw_coordinates(layer)
            self._empty[coordinates] = layer.convert()
        return self._empty[coordinates]

    def _draw_wood(self, layer: pygame.Surface) -> None:
        board, px = self.layout.board, self.layout.px
        radius = px(10)
        shapes.put(layer, shapes.soft_shadow(*board.size, radius, px(12), 110), (board.centerx, board.centery + px(4)))
        if self.layout.is_cells:
            layer.blit(shapes.rounded(*board.size, radius, PAPER), board)
            return
        plank = shapes.wood(*board.size).convert_alpha()
        plank.blit(shapes.rounded(*board.size, radius, (255, 255, 255)), (0, 0), special_flags=pygame.BLEND_RGBA_MULT)
        layer.blit(plank, board)
        layer.blit(shapes.rounded_line(*board.size, radius, px(1.2), (172, 128, 70)), board)

    def _draw_grid(self, layer: pygame.Surface) -> None:
        layout = self.layout
        thin = max(1, round(layout.unit / 34))
        every, outer = (range(layout.rows), range(layout.columns)), ((0, layout.rows - 1), (0, layout.columns - 1))
        for (rows, columns), thick in ((every, thin), (outer, thin + 1)):
            for h in rows:
                (x, y), (end, _) = layout.centre_of(h, 0), layout.centre_of(h, layout.columns - 1)
                layer.fill(GRID, (x - thick // 2, y - thick // 2, end - x + thick, thick))
            for w in columns:
                (x, y), (_, end) = layout.centre_of(layout.rows - 1, w), layout.centre_of(0, w)
                layer.fill(GRID, (x - thick // 2, y - thick // 2, thick, end - y + thick))
        for h in stars(layout.rows):
            for w in stars(layout.columns):
                shapes.put(layer, shapes.disc(max(2.5, layout.unit / 10), GRID), layout.centre_of(h, w))

    def _draw_cells(self, layer: pygame.Surface) -> None:
        layout = self.layout
        thick = max(2, layout.unit // 26)
        (left, low), (right, high) = layout.centre_of(0, 0), layout.centre_of(layout.rows - 1, layout.columns - 1)
        half, inset = layout.unit // 2, layout.unit // 12
        left, right, low, high = left - half + inset, right + half - inset, low + half - inset, high - half + inset
        for w in range(1, layout.columns):
            line = shapes.rounded(thick, low - high, thick / 2, PENCIL)
            shapes.put(layer, line, (layout.centre_of(0, w)[0] - half, (low + high) / 2))
        for h in range(1, layout.rows):
            line = shapes.rounded(right - left, thick, thick / 2, PENCIL)
            shapes.put(layer, line, ((left + right) / 2, layout.centre_of(h, 0)[1] + half))

    def _draw_coordinates(self, layer: pygame.Surface) -> None:
        layout = self.layout
        size = max(7, min(layout.px(15), int(layout.unit * 0.3)))
        if layout.is_cells:
            size, beside = max(8, layout.px(12)), layout.unit * 0.58
        else:
            beside = layout.unit * 0.5 + size * 0.42
        colour = DARK_PENCIL if layout.is_cells else GRID
        for h in range(layout.rows):
            x, y = layout.centre_of(h, 0)
            shapes.put(layer, self.pen.picture(self._names[1][h], size, colour), (x - beside, y))
        for w in range(layout.columns):
            x, y = layout.centre_of(0, w)
            shapes.put(layer, self.pen.picture(self._names[0][w], size, colour), (x, y + beside))

    # ------------------------------------------------------------------------------------------ stones and marks

    def _draw_stones(self, layer: pygame.Surface, scene: Scene) -> None:
        layout = self.layout
        radius = self._radius()
        if not layout.is_cells:
            for point, _ in scene.stones:
                x, y = layout.centre_of(*point)
                shapes.put(layer, shapes.stone_shadow(radius), (x + radius * 0.1, y + radius * 0.16))
        for place, (point, colour) in enumerate(scene.stones):
            centre = layout.centre_of(*point)
            if layout.is_cells and point in scene.won:
                side = int(layout.unit * 0.9)
                shapes.put(layer, shapes.rounded(side, side, side / 8, CELL_WON), centre)
            shapes.put(layer, self._piece(colour), centre)
            if point in scene.won and not layout.is_cells:
                shapes.put(layer, shapes.ring(radius, max(2, radius / 6), RED), centre)
            if scene.numbers:
                ink = RED if point == scene.last else self._ink(colour)
                self._write(layer, point, str(scene.numbers[place]), ink)
            elif point == scene.last and point not in scene.won:
                dot = shapes.disc(max(3, layout.unit / 22 if layout.is_cells else radius / 4.2), RED)
                corner = layout.unit * 0.42 if layout.is_cells else 0
                shapes.put(layer, dot, (centre[0] + corner, centre[1] - corner))
        for point, owner in scene.territory:
            self._own(layer, point, owner)

    def _own(self, layer: pygame.Surface, point: tuple[int, int], owner: int) -> None:
        """Draw a small square in the colour of the side to which an empty point belongs."""
        side = max(5, round(self.layout.unit * 0.3))
        thick = max(1, side // 12)
        ink, rim = (INK, PALE) if owner == shapes.BLACK else (PALE, INK)
        for length, colour in ((side + 2 * thick, rim), (side, ink)):
            shapes.put(layer, shapes.rounded(length, length, length / 8, colour), self.layout.centre_of(*point))

    def _radius(self) -> int:
        return max(3, round(self.layout.unit * 0.475))

    def _piece(self, colour: int) -> pygame.Surface:
        if self.layout.is_cells:
            radius = self.layout.unit * 0.30
            return (shapes.cross, shapes.ring)[colour](radius, radius / 3.4, (CROSS, RING)[colour])
        return shapes.stone(self._radius(), colour)

    def _ghost(self, screen: pygame.Surface, point: tuple[int, int], colour: int, opacity: int) -> None:
        picture = self._piece(colour).copy()
        picture.set_alpha(opacity)
        shapes.put(screen, picture, self.layout.centre_of(*point))

    def _ink(self, colour: int) -> tuple[int, int, int]:
        return INK if self.layout.is_cells or colour == shapes.WHITE else PALE

    def _write(self, screen: pygame.Surface, point: tuple[int, int], text: str, colour: tuple[int, int, int]) -> None:
        """Write a number on a stone; a cross or a ring has it in the corner of its cell."""
        (x, y), unit, px = self.layout.centre_of(*point), self.layout.unit, self.layout.px
        if self.layout.is_cells:
            size, x, y = int(min(unit * 0.2, px(18))), x - round(unit * 0.36), y - round(unit * 0.36)
        else:
            size = int(min(unit * (0.42 if len(text) < 3 else 0.34), px(26)))
        shapes.put(screen, self.pen.picture(text, max(7, size), colour, bold=True), (x, y))

    def _mark(self, screen: pygame.Surface, mark: Mark) -> None:
        """Draw a number of the search: the larger its share, the stronger the disc below it.

        On a small board only the disc is drawn; the panel has the numbers of the point under the mouse.
        """
        centre, unit = self.layout.centre_of(*mark.point), self.layout.unit
        colour = BLUE if mark.tone is None else GREEN if mark.tone >= 0 else RED
        strength = mark.weight if mark.tone is None else 0.35 + 0.65 * abs(mark.tone)
        radius = unit * (0.34 if self.layout.is_cells else 0.45)
        opacity = 30 + round(7 * strength) * 28
        shapes.put(screen, shapes.disc(radius, PALE, 205), centre)
        shapes.put(screen, shapes.disc(radius, colour, opacity), centre)
        if mark.weight >= 1:
            shapes.put(screen, shapes.ring(radius, max(1.5, radius / 9), INK), centre)
        size, least = int(min(unit * 0.36, self.layout.px(24))), max(LEGIBLE, self.layout.px(LEGIBLE))
        if size < least:
            return
        while size > least and self.pen.width(mark.text, size, bold=True) > 1.55 * radius:
            size -= 1
        background = [pale + (own - pale) * opacity / 255 for pale, own in zip(PALE, colour, strict=True)]
        shapes.put(screen, self.pen.picture(mark.text, size, ink_on(background), bold=True), centre)


def ink_on(background: Sequence[float]) -> tuple[int, int, int]:
    """Return the ink, dark or pale, that is easier to read on this colour."""
    return max(INK, PALE, key=lambda ink: contrast(ink, background))


def contrast(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the contrast ratio of two colours, from 1 to 21 (Web Content Accessibility Guidelines 2.2)."""
    low, high = sorted(_luminance(colour) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: Sequence[float]) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (each / 255 for each in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def stars(length: int) -> tuple[int, ...]:
    """Return the rows or columns that have star points, which help the eye find a point; a small board has no star points."""
    if length < 9:
        return ()
    edge = 2 if length < 13 else 3
    return (edge, length // 2, length - 1 - edge) if length % 2 else (edge, length - 1 - edge)
