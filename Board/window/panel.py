"""Draws the panel beside the board: names and score, the search, values over the game, buttons, lists."""

from __future__ import annotations

import pygame

from Board.window import shapes
from Board.window.board_picture import BLUE, CROSS, INK, PALE, RED, RING
from Board.window.fonts import Pen
from Board.window.layout import Layout
from Board.window.scene import Button, Row, Scene

CARD, EDGE, FAINT, TURN = (250, 247, 241), (214, 206, 192), (122, 112, 98), (246, 232, 198)
BUTTON, OVER, ACTIVE, DISABLED = (255, 253, 249), (250, 236, 204), (222, 234, 248), (240, 235, 227)
BAR_BLACK, BAR_WHITE = (44, 42, 42), (250, 249, 246)


class Panel:
    """The right side of one layout."""

    def __init__(self, layout: Layout, pen: Pen) -> None:
        self.layout, self.pen = layout, pen

    def draw(self, screen: pygame.Surface, scene: Scene, pointer: tuple[int, int] | None) -> None:
        """Draw everything beside the board."""
        self._headline(screen, scene)
        self._players(screen, scene)
        has_card = self.layout.curve.height > 0
        self._search_line(screen, scene.detail or ("" if has_card else scene.caption))
        if scene.curve and has_card:
            self._curve(screen, scene)
        elif scene.caption and has_card:
            self._words(screen, scene.caption)
        if scene.value is not None:
            self._bar(screen, scene.value)
        for name, button in scene.buttons:
            self._button(screen, self.layout.buttons[name], button, pointer)
        px, panel = self.layout.px, self.layout.panel
        self._line(screen, scene.keys, px(11.5), FAINT, (panel.x, panel.bottom - px(9)), panel.width)
        if scene.list_of:
            self._list(screen, scene.list_of)

    def _line(
        self, screen: pygame.Surface, text: str, size: int, colour: tuple[int, int, int], left_middle: tuple[int, int],
        width: int,
    ) -> None:  # fmt: skip
        """Write one line, in smaller letters if it is too long for the width."""
        while size > 7 and self.pen.width(text, size) > width:
            size -= 1
        picture = self.pen.picture(text, size, colour)
        screen.blit(picture, picture.get_rect(midleft=left_middle))

    def _headline(self, screen: pygame.Surface, scene: Scene) -> None:
        px, panel = self.layout.px, self.layout.panel
        if scene.is_alarming:
            lines, size = self.pen.lines(scene.message, px(13), panel.width, 4), px(13)
        else:
            lines, size = self.pen.lines(scene.message, px(21), panel.width, 2, bold=True), px(21)
        step = round(size * 1.22)
        top = panel.y + max(0, (px(54) - step * len(lines)) // 2)
        for number, line in enumerate(lines):
            colour = RED if scene.is_alarming else INK
            picture = self.pen.picture(line, size, colour, not scene.is_alarming)
            screen.blit(picture, (panel.x, top + number * step))

    def _card(self, screen: pygame.Surface, box: pygame.Rect) -> None:
        radius = self.layout.px(9)
        screen.blit(shapes.rounded(*box.size, radius, CARD), box)
        screen.blit(shapes.rounded_line(*box.size, radius, self.layout.px(1), EDGE), box)

    def _players(self, screen: pygame.Surface, scene: Scene) -> None:
        px, box = self.layout.px, self.layout.players
        self._card(screen, box)
        for number, row in enumerate(scene.rows):
            self._row(screen, row, box.y + px(22) + number * px(34))
        name, draws = scene.draws
        self._line(screen, name, px(12.5), FAINT, (box.x + px(44), box.bottom - px(16)), box.width)
        picture = self.pen.picture(str(draws), px(12.5), FAINT)
        screen.blit(picture, picture.get_rect(midright=(box.right - px(14), box.bottom - px(16))))

    def _row(self, screen: pygame.Surface, row: Row, middle: int) -> None:
        px, box = self.layout.px, self.layout.players
        if row.is_to_move:
            screen.blit(shapes.rounded(box.width - px(10), px(32), px(7), TURN), (box.x + px(5), middle - px(16)))
        shapes.put(screen, self._icon(row.colour), (box.x + px(24), middle))
        wins = self.pen.picture(str(row.wins), px(18), INK, bold=True)
        screen.blit(wins, wins.get_rect(midright=(box.right - px(14), middle)))
        clock = self.pen.picture(row.clock, px(13), FAINT)
        clock_box = clock.get_rect(midright=(box.right - px(48), middle))
        screen.blit(clock, clock_box)
        name = self.pen.lines(row.name, px(15), clock_box.x - box.x - px(52), 1)
        rise = px(6) if row.captured else 0
        if name:
            self._line(screen, name[0], px(15), INK, (box.x + px(44), middle - rise), box.width)
        if row.captured:
            self._line(screen, row.captured, px(11), FAINT, (box.x + px(44), middle + px(9)), box.width)

    def _icon(self, colour: int) -> pygame.Surface:
        radius = self.layout.px(10)
        if self.layout.is_cells:
            return (shapes.cross, shapes.ring)[colour](radius * 0.9, radius / 3, (CROSS, RING)[colour])
        return shapes.stone(radius, colour)

    def _search_line(self, screen: pygame.Surface, text: str) -> None:
        px, box = self.layout.px, self.layout.players
        lines = self.pen.lines(text, px(13), box.width, 2)
        top = box.bottom + px(13 if len(lines) > 1 else 19)
        for number, line in enumerate(lines):
            self._line(screen, line, px(13), INK, (box.x + px(2), top + number * px(16)), box.width)

    def _words(self, screen: pygame.Surface, text: str) -> None:
        """Write what is said of a search where the curve would be."""
        px, box = self.layout.px, self.layout.curve
        self._card(screen, box)
        for number, line in enumerate(self.pen.lines(text, px(13), box.width - px(24), (box.height - px(16)) // px(17))):
            self._line(screen, line, px(13), INK, (box.x + px(12), box.y + px(18) + number * px(17)), box.width)

    def _curve(self, screen: pygame.Surface, scene: Scene) -> None:
        px, box = self.layout.px, self.layout.curve
        self._card(screen, box)
        title = scene.caption
        inner = box.inflate(-px(24), -px(20))
        if title:
            inner = pygame.Rect(inner.x, inner.y + px(14), inner.width, inner.height - px(14))
        if title:
            self._line(screen, title, px(11), FAINT, (box.x + px(12), box.y + px(12)), box.width - px(20))
        last = max(2, scene.plies)

        def at(ply: int, value: float) -> tuple[float, float]:
            return inner.x + inner.width * ply / last, inner.centery - value * inner.height / 2

        for value, colour in ((1.0, EDGE), (0.0, FAINT), (-1.0, EDGE)):
            x, y = at(0, value)
            screen.fill(colour, (round(x), round(y), inner.width, 1))
        points = [at(ply, value) for ply, value in scene.curve]
        if len(points) > 1:
            for shift in (-0.5, 0.0, 0.5):
                pygame.draw.aalines(screen, BLUE, False, [(x, y + shift * self.layout.scale) for x, y in points])
        for ply, value in scene.curve:
            if ply == scene.shown or len(points) == 1:
                shapes.put(screen, shapes.disc(px(4), BLUE), at(ply, value))
        x, _ = at(min(scene.shown, last), 0)
        screen.fill(FAINT, (round(x), inner.y, 1, inner.height))

    def _bar(self, screen: pygame.Surface, value: float) -> None:
        """Draw the value for black: the larger the dark part, the better for black."""
        px, box = self.layout.px, self.layout.bar
        radius = box.width / 2.5
        screen.blit(shapes.rounded(*box.size, radius, BAR_WHITE), box)
        dark = round(box.height * (1 + value) / 2)
        part = shapes.rounded(*box.size, radius, BAR_BLACK)
        screen.blit(part, (box.x, box.bottom - dark), (0, box.height - dark, box.width, dark))
        screen.blit(shapes.rounded_line(*box.size, radius, px(1), EDGE), box)
        screen.fill(FAINT, (box.x - px(2), box.centery, box.width + px(4), px(1)))
        text = self.pen.picture(f"{100 * value:+.0f}", px(11), FAINT)
        screen.blit(text, text.get_rect(midtop=(box.centerx, box.bottom + px(2))))

    def _button(self, screen: pygame.Surface, box: pygame.Rect, button: Button, pointer: tuple[int, int] | None) -> None:
        over = button.enabled and pointer is not None and box.collidepoint(pointer)
        colour = OVER if over else ACTIVE if button.active else BUTTON if button.enabled else DISABLED
        px = self.layout.px
        screen.blit(shapes.rounded(*box.size, px(7), colour), box)
        screen.blit(shapes.rounded_line(*box.size, px(7), px(1), EDGE), box)
        size = px(13.5)
        while size > 7 and self.pen.width(button.label, size) > box.width - px(8):
            size -= 1
        picture = self.pen.picture(button.label, size, INK if button.enabled else (176, 168, 156))
        screen.blit(picture, picture.get_rect(center=box.center))

    def _list(self, screen: pygame.Surface, rows: tuple[str, ...]) -> None:
        """Draw a list over the board; a tab in a row separates two columns."""
        px = self.layout.px
        box = list_box(self.layout, len(rows))
        shapes.put(screen, shapes.soft_shadow(*box.size, px(12), px(20), 150), (box.centerx, box.centery + px(4)))
        screen.blit(shapes.rounded(*box.size, px(12), PALE), box)
        screen.blit(shapes.rounded_line(*box.size, px(12), px(1), EDGE), box)
        beside = second_column(self.pen, self.layout, rows)
        for number, row in enumerate(rows):
            middle = box.y + px(30) + number * px(24)
            first, _, second = row.partition("\t")
            size, colour = (px(17), INK) if number == 0 else (px(13.5), BLUE if second else INK)
            self._line(screen, first, size, colour, (box.x + px(22), middle), box.width - px(40))
            if second:
                self._line(screen, second, px(13.5), INK, (box.x + beside, middle), box.width - beside - px(20))


def second_column(pen: Pen, layout: Layout, rows: tuple[str, ...]) -> int:
    """Return where the second column of a list begins, to the right of the widest entry of the first one."""
    px = layout.px
    return px(22) + max((pen.width(row.partition("\t")[0], px(13.5)) for row in rows if "\t" in row), default=0) + px(18)


def list_box(layout: Layout, rows: int) -> pygame.Rect:
    """Return the place of a list with this many rows, title included."""
    px = layout.px
    box = pygame.Rect(0, 0, min(px(480), max(px(30), layout.size[0] - px(30))), px(36) + rows * px(24))
    box.center = (max(box.width // 2 + px(10), layout.board.centerx), layout.size[1] // 2)
    return box


def list_row_at(layout: Layout, rows: int, pixel: tuple[int, int]) -> int | None:
    """Return the number of the row under a pixel, the title being 0; None beside the list."""
    box = list_box(layout, rows)
    row = (pixel[1] - box.y - layout.px(18)) // layout.px(24)
    return row if box.collidepoint(pixel) and 0 <= row < rows else None
