"""A pygame window that shows the table."""

from __future__ import annotations

import numpy as np
import pygame

from .raster import image_of
from .shapes import Scene


class Window:
    """One window; once closed, it is not opened again."""

    def __init__(self, title: str, fps: int) -> None:
        pygame.display.init()
        self._fps = fps
        self._clock = pygame.time.Clock()
        self._title = title
        self._screen: pygame.Surface | None = None
        self.closed = False

    def show(self, scene: Scene) -> None:
        """Draw the scene and wait for one frame."""
        if self.closed:
            return
        if self._screen is None:
            self._screen = pygame.display.set_mode((scene.width, scene.height))
            pygame.display.set_caption(self._title)
        picture = np.ascontiguousarray(image_of(scene).swapaxes(0, 1))
        self._screen.blit(pygame.surfarray.make_surface(picture), (0, 0))
        pygame.display.flip()
        if any(event.type == pygame.QUIT for event in pygame.event.get()):
            self.close()
            return
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window; closing twice does no harm."""
        if not self.closed:
            self.closed = True
            pygame.display.quit()
