"""What kind of file system the store lies on: whether its locks are seen by everybody who can reach it."""

import sys
from functools import cache

from .folder import Folder

_LOCAL = {
    0xEF53: "ext4",
    0x58465342: "XFS",
    0x9123683E: "Btrfs",
    0x2FC12FC1: "ZFS",
    0xCA451A4E: "bcachefs",
    0xF2F52010: "F2FS",
    0x3153464A: "JFS",
    0x52654973: "ReiserFS",
    0x01021994: "tmpfs",
    0x858458F6: "ramfs",
    0x794C7630: "overlayfs",
    0x24051905: "UBIFS",
    0x7366746E: "NTFS",
    0x2011BAB0: "exFAT",
    0x4D44: "FAT",
    0xF15F: "eCryptfs",
}
"""Of one machine alone, by the numbers of statfs(2) and linux/magic.h: all who use them ask one kernel for a lock."""

_STATFS_BYTES = 256


def is_local(folder: Folder) -> bool:
    """Tell whether nobody can reach a directory but through this machine's kernel; never of network or FUSE mounts.

    On systems other than Linux it is taken for granted.
    """
    if not sys.platform.startswith("linux"):
        return True
    return _kind(str(folder.path)) in _LOCAL


@cache
def _kind(path: str) -> int:
    """Return the number of the file system that a path is on; 0 if it cannot be told."""
    import ctypes
    import os

    found = ctypes.create_string_buffer(_STATFS_BYTES)
    if ctypes.CDLL(None).statfs(os.fsencode(path), found):
        return 0
    return int.from_bytes(found.raw[: ctypes.sizeof(ctypes.c_long)], sys.byteorder) & 0xFFFFFFFF
