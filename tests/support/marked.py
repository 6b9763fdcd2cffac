"""Processes of this machine, as /proc tells of them."""

from pathlib import Path


def holding(mark):
    """Return the ids of the processes that have a text in their environment."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                environment = (place / "environ").read_bytes()
            except OSError:
                continue
            if mark.encode() in environment:
                found.append(int(place.name))
    return found
