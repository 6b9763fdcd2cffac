"""Where the next thing goes: pages, the room left on them, and the grounds and bars behind a block."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from .canvas import Page

if TYPE_CHECKING:
    from collections.abc import Generator

    from .options import Options


class Ground(Protocol):
    """Draws what lies behind a block, on one page, between two distances from the top."""

    def __call__(self, page: Page, top: float, bottom: float, *, first: bool, last: bool) -> None:
        """Draw; `first` and `last` tell whether the block begins and ends on this page."""
        ...


@dataclass(slots=True)
class _Open:
    draw: Ground
    top: float
    first: bool = True


class Flow:
    """Fills pages from top to bottom; all distances are points from the top left corner of a page.

    Attributes:
        pages: all pages so far.
        y: where the next line begins.
        left: left edge of the room for text.
        right: right edge of the room for text.
    """

    def __init__(self, options: Options) -> None:
        margins = options.margins
        width, self._height = options.page_pt
        self._top = margins.top
        self._bottom = self._height - margins.bottom
        self.pages: list[Page] = []
        self.left, self.right = margins.left, width - margins.right
        self._grounds: list[_Open] = []
        self._gap = 0.0
        self._fresh = True
        self.y = self._top
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
    def page_room(self) -> float:
        """Height of an empty page."""
        return self._bottom - self._top

    @property
    def room(self) -> float:
        """Height left on this page after the space that is due."""
        return self._bottom - self.y - (0 if self._fresh else self._gap)

    @property
    def is_fresh(self) -> bool:
        """Nothing stands on this page yet."""
        return self._fresh

    def space(self, height: float) -> None:
        """Ask for white before what comes next; of several wishes the largest counts, and none at the top of a page."""
        if height > self._gap:
            self._gap = height

    def need(self, height: float) -> None:
        """Turn the page unless `height` is left; what is higher than a page stays where it is."""
        if not self._fresh and self.room < height <= self.page_room:
            self.turn()

    def take(self, height: float) -> float:
        """Take room for something that is not divided; return its distance from the top of the (perhaps new) page."""
        if self._gap or self.y + height > self._bottom:
            self.need(min(height, self.page_room))
            self.settle()
        top = self.y
        self.y += height
        self._fresh = False
        return top

    def settle(self) -> None:
        """Leave the white that is due."""
        if not self._fresh:
            self.y += self._gap
        self._gap = 0.0

    def turn(self) -> None:
        """Go to a new page."""
        self._gap = 0.0
        for ground in self._grounds:
            if ground.top < self.y:
                ground.draw(self.page, ground.top, self.y, first=ground.first, last=False)
                ground.first = False
        self._begin()
        for ground in self._grounds:
            ground.top = self.y

    @contextmanager
    def inset(self, left: float = 0.0, right: float = 0.0, *, least: float = 0.0) -> Generator[None]:
        """Make the room for text narrower; never so narrow that no text fits, but by `least` while any room is left."""
        old = self.left, self.right
        narrowest, wanted = 90.0, left + right
        given = max(min(wanted, self.width - narrowest), min(least, self.width - 24.0), 0.0)
        share = given / wanted if wanted else 0.0
        self.left, self.right = self.left + left * share, self.right - right * share
        try:
            yield
        finally:
            self.left, self.right = old

    @contextmanager
    def behind(self, draw: Ground) -> Generator[None]:
        """Draw something behind all that comes, on every page that it takes."""
        self.settle()
        ground = _Open(draw, self.y)
        self._grounds.append(ground)
        yield
        self._grounds.remove(ground)
        if ground.top < self.y:
            draw(self.page, ground.top, self.y, first=ground.first, last=True)

    def _begin(self) -> None:
        self.pages.append(Page(self._height))
        self.y = self._top
        self._fresh = True
