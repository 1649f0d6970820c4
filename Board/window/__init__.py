"""The window: what is drawn where, in which words and fonts. Only the modules that draw import pygame."""

import os

# pygame reads these when it is imported: no greeting, and no blurred enlargement of the window on Windows.
os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
os.environ.setdefault("SDL_WINDOWS_DPI_AWARENESS", "permonitorv2")
