"""Where the next thing goes: pages, the room left on them, and the grounds and bars behind a block."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .canvas import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_NARROWEST_PT = 90.0
"""Room for text that no indentation takes away."""


@dataclass(slots=True)
class _Ground:
    draw: Callable[[Page, float, float], None]
    top: float


class Flow:
    """Fills pages from top to bottom; all lengths are points, from the top left corner of a page.

    Attributes:
        pages: all pages so far; the last is being filled.
        y: where the next line begins.
        left: left edge of the room for text.
        right: right edge of the room for text.
        is_fresh: nothing stands on the page yet.
        page_room: height of an empty page.
    """

    def __init__(self, page_pt: tuple[float, float], margin_pt: float) -> None:
        """Take width and height of a page, and the white on each side of it."""
        width, self._height = page_pt
        self._top, self._bottom = margin_pt, self._height - margin_pt
        self.left, self.right = margin_pt, width - margin_pt
        self.page_room = self._bottom - self._top
        self.pages: list[Page] = []
        self._grounds: list[_Ground] = []
        self._begin()

    @property
    def page(self) -> Page:
        """The page that is being filled."""
        return self.pages[-1]

    @property
    def width(self) -> float:
        """Room for a line."""
        return self.right - self.left

    @property
    def room(self) -> float:
        """Height left on this page after the white that is due."""
        return self._bottom - self.y - (0 if self.is_fresh else self._gap)

    def space(self, height: float) -> None:
        """Ask for white before what comes next; of several wishes the largest counts, and none at the top of a page."""
        self._gap = max(self._gap, height)

    def need(self, height: float) -> None:
        """Turn the page unless `height` is left; what is higher than a page stays where it is."""
        if not self.is_fresh and self.room < height <= self.page_room:
            self.turn()

    def take(self, height: float) -> float:
        """Take room for something that is not divided; return where it begins, perhaps on a new page."""
        self.need(min(height, self.page_room))
        self.settle()
        self.y += height
        self.is_fresh = False
        return self.y - height

    def settle(self) -> None:
        """Leave the white that is due."""
        if not self.is_fresh:
            self.y += self._gap
        self._gap = 0.0

    def turn(self) -> None:
        """Go to a new page."""
        for ground in self._grounds:
            self._draw(ground)
        self._begin()
        for ground in self._grounds:
            ground.top = self.y

    @contextmanager
    def inset(self, left: float = 0.0, right: float = 0.0, *, least: float = 0.0) -> Generator[None]:
        """Make the room for text narrower; never so narrow that no text fits, but by `least` while any room is left."""
        old = self.left, self.right
        wanted = left + right
        given = max(min(wanted, self.width - _NARROWEST_PT), min(least, self.width - 24.0), 0.0)
        share = given / wanted if wanted else 0.0
        self.left, self.right = self.left + left * share, self.right - right * share
        yield
        self.left, self.right = old

    @contextmanager
    def behind(self, draw: Callable[[Page, float, float], None]) -> Generator[None]:
        """Draw something behind all that comes, on every page that it takes, between two distances from the top."""
        self.settle()
        ground = _Ground(draw, self.y)
        self._grounds.append(ground)
        yield
        self._grounds.remove(ground)
        self._draw(ground)

    def _draw(self, ground: _Ground) -> None:
        if ground.top < self.y:
            ground.draw(self.page, ground.top, self.y)

    def _begin(self) -> None:
        self.pages.append(Page(self._height))
        self.y = self._top
        self._gap = 0.0
        self.is_fresh = True
