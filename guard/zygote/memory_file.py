"""Puts bytes where another process can read them to their end."""

import os
import sys

if sys.platform == "win32":
    raise ImportError("Windows has job objects instead")


def memory_file(data: bytes) -> int:
    """Return the descriptor of a nameless file that holds these bytes, to be read from its start.

    Raises:
        OSError: there are too many files open, or no memory.
    """
    if sys.platform == "linux":
        fd = os.memfd_create("bursar")
    else:
        from tempfile import TemporaryFile

        with TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.lseek(fd, 0, os.SEEK_SET)
    except BaseException:
        os.close(fd)
        raise
    return fd
