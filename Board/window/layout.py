"""Where everything is in a window of a given size, and which point or button is under a pixel."""

from __future__ import annotations

from dataclasses import dataclass

import pygame

from Board.window.scene import button_rows

PANEL, LEAST_WIDTH, LEAST_HEIGHT = 324, 600, 470  # at scale 1
LEAST_CURVE = 54
LEAST_ROOM = 60  # pixels each way; of a window that was made smaller still, only a part can be seen
# In a window more than TALL times as high as wide, the panel lies below the board.
TALL, TALL_WIDTH, TALL_HEIGHT, PANEL_HEIGHT = 1.1, 400, 780, 440


@dataclass(frozen=True)
class Layout:
    """The places of a window.

    Attributes:
        size: the window in pixels.
        columns, rows: the board.
        is_cells: whether stones lie in cells, as in tic-tac-toe, and not on crossings.
        scale: the size of text and buttons; 1 on an ordinary screen.
        unit: pixels between two points.
        board: the wood or paper.
        corner: the pixel of the point (0, 0).
        bar: the bar of values beside the board.
        panel: everything to the right of the bar, or below the board in a tall window.
        players: the card with names and score.
        curve: the card with the curve of values; its height is 0 if there is no room.
        buttons: name -> place.
    """

    size: tuple[int, int]
    columns: int
    rows: int
    is_cells: bool
    scale: float
    unit: int
    board: pygame.Rect
    corner: tuple[int, int]
    bar: pygame.Rect
    panel: pygame.Rect
    players: pygame.Rect
    curve: pygame.Rect
    buttons: dict[str, pygame.Rect]

    def px(self, length: float) -> int:
        """Return a length of the design in pixels, at least 1."""
        return max(1, round(length * self.scale))

    def centre_of(self, h: int, w: int) -> tuple[int, int]:
        """Return the pixel at the centre of a point; h counts from the bottom."""
        return self.corner[0] + w * self.unit, self.corner[1] - h * self.unit

    def point_at(self, pixel: tuple[int, int]) -> tuple[int, int] | None:
        """Return the point (h, w) nearest to a pixel; None if the pixel is not on the board."""
        w, h = round((pixel[0] - self.corner[0]) / self.unit), round((self.corner[1] - pixel[1]) / self.unit)
        inside = 0 <= w < self.columns and 0 <= h < self.rows and self.board.collidepoint(pixel)
        return (h, w) if inside else None

    def button_at(self, pixel: tuple[int, int]) -> str | None:
        """Return the name of the button under a pixel; None if there is no button."""
        return next((name for name, box in self.buttons.items() if box.collidepoint(pixel)), None)


def first_size(columns: int, rows: int, scale: float, desktop: tuple[int, int]) -> tuple[int, int]:
    """Return the size of a new window."""
    unit = max(30, min(118, 760 // (max(columns, rows) + 1)))
    width = scale * (unit * (columns + 1.2) + PANEL + 70)
    height = scale * max(580, unit * (rows + 1.2) + 48)
    return int(min(width, desktop[0] - 40)), int(min(height, desktop[1] - 90))


def lay_out(
    size: tuple[int, int],
    columns: int,
    rows: int,
    scale: float,
    is_cells: bool = False,
    in_place_of_a_stone: str | None = "swap",
) -> Layout:
    """Compute the places; in a small window everything shrinks, and in a tall one the panel lies below the board."""
    width, height = (max(LEAST_ROOM, length) for length in size)
    is_tall = height > TALL * width
    least_width, least_height = (TALL_WIDTH, TALL_HEIGHT) if is_tall else (LEAST_WIDTH, LEAST_HEIGHT)
    scale = max(0.4, min(scale, width / least_width, height / least_height))
    gap = round(20 * scale)
    bar_width = round(12 * scale)
    border = 0.4 if is_cells else 1.9  # the wood beyond the outer lines, in units
    across, down = columns - 1 + border + (1 if is_cells else 0), rows - 1 + border + (1 if is_cells else 0)
    if is_tall:
        free_w = width - bar_width - 3 * gap
        free_h = min(free_w / across * down, height - 2 * gap - PANEL_HEIGHT * scale)
        top = 2 * gap + round(free_h)
        panel = pygame.Rect(gap, top, width - 2 * gap, height - gap - top)
    else:
        panel = pygame.Rect(width - round(PANEL * scale), gap, round(PANEL * scale) - gap, height - 2 * gap)
        free_w, free_h = panel.x - bar_width - 3 * gap, height - 2 * gap
    unit = max(6, int(min(free_w / across, free_h / down)))
    board = pygame.Rect(0, 0, int(unit * across), int(unit * down))
    board.center = (gap + max(board.width, free_w) // 2, gap + max(board.height, round(free_h)) // 2)
    corner = (board.centerx - unit * (columns - 1) // 2, board.centery + unit * (rows - 1) // 2)
    bar = pygame.Rect(board.right + gap, board.y, bar_width, board.height)
    players = pygame.Rect(panel.x, panel.y + round(62 * scale), panel.width, round(104 * scale))
    buttons = _buttons(panel, scale, button_rows(in_place_of_a_stone))
    top, bottom = players.bottom + round(38 * scale), min(box.y for box in buttons.values()) - round(12 * scale)
    high = min(bottom - top, round(150 * scale))
    curve = pygame.Rect(panel.x, top, panel.width, high if high >= LEAST_CURVE * scale else 0)
    return Layout(size, columns, rows, is_cells, scale, unit, board, corner, bar, panel, players, curve, buttons)


def _buttons(panel: pygame.Rect, scale: float, rows: tuple[tuple[str, ...], ...]) -> dict[str, pygame.Rect]:
    height, gap = round(32 * scale), round(7 * scale)
    top = panel.bottom - round(24 * scale) - len(rows) * (height + gap)
    places = {}
    for row, names in enumerate(rows):
        width = (panel.width - (len(names) - 1) * gap) / len(names)
        for column, name in enumerate(names):
            left = panel.x + round(column * (width + gap))
            places[name] = pygame.Rect(left, top + row * (height + gap), round(width), height)
    return places
