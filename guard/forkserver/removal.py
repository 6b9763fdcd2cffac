"""Removes directories that commands have filled, whatever they did to the rights of what is in them."""

import os
import shutil
import sys


def remove(directory: "str | os.PathLike[str]") -> None:
    """Remove a directory that no process uses any more; what is mounted in it elsewhere is not here, and stays.

    Raises:
        OSError: something in it cannot be removed.
    """
    shutil.rmtree(directory, ignore_errors=True)
    if os.path.exists(directory):  # noqa: PTH110 - pathlib is not worth its import here
        for place, _, _ in os.walk(directory):
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        os.chmod(entry.path, 0o700)  # noqa: PTH101
        shutil.rmtree(directory)


def main() -> None:
    """Remove the directory `argv[1]`."""
    remove(sys.argv[1])
