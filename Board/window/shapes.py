"""Pictures computed point by point: wood, stones, shadows, crosses and rings, all with smooth edges at any size."""

from __future__ import annotations

from functools import cache

import numpy as np
import pygame

Colour = tuple[int, int, int]
WOOD, WOOD_SEED = (226, 186, 122), 5
BLACK, WHITE = 0, 1
PLANK = 760  # pixels of each side


def surface(rgb: np.ndarray, alpha: np.ndarray) -> pygame.Surface:
    """Return a surface from colours [H, W, 3] and opacity [H, W], both from 0 to 255 as float."""
    pixels = np.dstack([rgb, alpha[..., None]]).clip(0, 255).astype(np.uint8)
    return pygame.image.frombuffer(pixels.tobytes(), (pixels.shape[1], pixels.shape[0]), "RGBA").convert_alpha()


def _grid(width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of each pixel's centre, measured from the middle."""
    x, y = np.meshgrid(np.arange(width) - (width - 1) / 2, np.arange(height) - (height - 1) / 2)
    return x, y


def _flat(colour: Colour, coverage: np.ndarray, opacity: float = 255.0) -> pygame.Surface:
    rgb = np.broadcast_to(np.array(colour, dtype=float), (*coverage.shape, 3))
    return surface(rgb, coverage.clip(0, 1) * opacity)


@cache
def disc(radius: float, colour: Colour, opacity: int = 255) -> pygame.Surface:
    """Return a filled circle."""
    x, y = _grid(side := int(2 * radius + 3), side)
    return _flat(colour, radius - np.hypot(x, y) + 0.5, opacity)


@cache
def ring(radius: float, thickness: float, colour: Colour) -> pygame.Surface:
    """Return a circle line whose outer edge has this radius."""
    x, y = _grid(side := int(2 * radius + 3), side)
    distance = np.abs(np.hypot(x, y) - (radius - thickness / 2))
    return _flat(colour, thickness / 2 - distance + 0.5)


@cache
def cross(radius: float, thickness: float, colour: Colour) -> pygame.Surface:
    """Return an X with round ends that fits a square of side 2 * radius."""
    x, y = _grid(side := int(2 * radius + 3), side)
    reach = (radius - thickness / 2) * np.sqrt(2)
    distance = np.full(x.shape, np.inf)
    for along, across in (((x + y), (x - y)), ((x - y), (x + y))):
        beyond = np.maximum(np.abs(along) / np.sqrt(2) - reach, 0)
        distance = np.minimum(distance, np.hypot(beyond, across / np.sqrt(2)))
    return _flat(colour, thickness / 2 - distance + 0.5)


@cache
def rounded(width: int, height: int, radius: float, colour: Colour, opacity: int = 255) -> pygame.Surface:
    """Return a filled rectangle with round corners."""
    return _flat(colour, 0.5 - _outside(width, height, radius), opacity)


@cache
def rounded_line(width: int, height: int, radius: float, thickness: float, colour: Colour) -> pygame.Surface:
    """Return the outline of a rectangle with round corners."""
    return _flat(colour, thickness / 2 + 0.5 - np.abs(_outside(width, height, radius) + thickness / 2))


def _outside(width: int, height: int, radius: float, blur: float = 0.0) -> np.ndarray:
    """Return the distance of each pixel from a rectangle with rounded corners; negative inside."""
    x, y = _grid(width, height)
    across = np.abs(x) - (width / 2 - radius - blur)
    down = np.abs(y) - (height / 2 - radius - blur)
    return np.hypot(np.maximum(across, 0), np.maximum(down, 0)) + np.minimum(np.maximum(across, down), 0) - radius


@cache
def soft_shadow(width: int, height: int, radius: float, blur: float, opacity: int) -> pygame.Surface:
    """Return the shadow of a rectangle with round corners; it reaches `blur` pixels beyond the rectangle on each side."""
    margin = int(2 * blur)
    distance = _outside(width + margin, height + margin, radius, blur)
    return _flat((40, 26, 10), (1 - (distance + blur) / (2 * blur)).clip(0, 1) ** 2, opacity)


@cache
def stone_shadow(radius: int) -> pygame.Surface:
    """Return the soft shadow of a stone."""
    x, y = _grid(side := int(3.2 * radius) | 1, side)
    return _flat((38, 24, 8), ((1.32 * radius - np.hypot(x, y)) / (0.62 * radius)).clip(0, 1) ** 1.5, 120)


@cache
def stone(radius: int, colour: int) -> pygame.Surface:
    """Return a stone that is lit from the upper left; colour 0 is black."""
    x, y = _grid(side := 2 * radius + 3, side)
    away = np.hypot(x, y) / radius
    light = np.exp(-((x / radius + 0.36) ** 2 + (y / radius + 0.42) ** 2) / 0.13)
    slope = (-x - 1.2 * y) / radius
    if colour == BLACK:
        rgb = np.stack([27 + 12 * slope + 86 * light - 10 * away**4 + shade for shade in (0, 1, 4)], axis=-1)
    else:
        rgb = np.stack([238 + 8 * slope + 16 * light - 34 * away**5 + shade for shade in (2, 0, -5)], axis=-1)
    return surface(rgb, (radius - np.hypot(x, y) + 0.5).clip(0, 1) * 255)


def wood(width: int, height: int) -> pygame.Surface:
    """Return straight-grained wood, always the same; a part of one plank, enlarged if the board is larger."""
    scale = max(1.0, max(width, height) / PLANK)
    plank = pygame.transform.smoothscale_by(_plank(), scale) if scale > 1 else _plank()
    return plank.subsurface((0, 0, min(width, plank.get_width()), min(height, plank.get_height())))


@cache
def _plank() -> pygame.Surface:
    rng = np.random.default_rng(WOOD_SEED)
    width = height = PLANK
    x, y = np.meshgrid(np.arange(width, dtype=float), np.arange(height, dtype=float))
    bend = 9 * np.sin(y / 260 + 0.6) + 5 * np.sin(y / 97 + x / 400) + _smooth(rng, width, height, 150) * 16
    at = (x + bend).ravel()
    grain = np.zeros(at.shape)
    for period, strength in ((2.3, 2.2), (6, 2.6), (15, 3.6), (48, 4.6), (170, 3.4)):
        count = int(width / period) + 12
        grain += strength * np.interp(at / period + 5, np.arange(count), rng.standard_normal(count))
    shade = grain.reshape(height, width) + 3 * _smooth(rng, width, height, 320) + rng.normal(0, 1.1, (height, width))
    rgb = np.stack([base + weight * shade for base, weight in zip(WOOD, (0.82, 0.95, 1.0), strict=True)], axis=-1)
    return surface(rgb, np.full((height, width), 255.0)).convert()


def _smooth(rng: np.random.Generator, width: int, height: int, period: int) -> np.ndarray:
    """Return noise [height, width] that changes over about `period` pixels."""
    rows, columns = height // period + 3, width // period + 3
    coarse = rng.standard_normal((rows, columns))
    across = np.array([np.interp(_eased(width, period), np.arange(columns), row) for row in coarse])
    return np.array([np.interp(_eased(height, period), np.arange(rows), column) for column in across.T]).T


def _eased(length: int, period: int) -> np.ndarray:
    """Return places between the coarse values, so that the noise has no kinks at them."""
    at = np.arange(length) / period
    part = at % 1
    return at - part + part * part * (3 - 2 * part)


def forget_pictures() -> None:
    """Drop all pictures but the plank, whose sizes are those of a window that was resized."""
    for shape in (disc, ring, cross, rounded, rounded_line, soft_shadow, stone_shadow, stone):
        shape.cache_clear()


def put(screen: pygame.Surface, picture: pygame.Surface, centre: tuple[float, float]) -> None:
    """Draw a picture around a point."""
    screen.blit(picture, (round(centre[0] - picture.get_width() / 2), round(centre[1] - picture.get_height() / 2)))
