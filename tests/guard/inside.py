"""What scripts begin with that run within walls, where bursar itself may not be read."""

from pathlib import Path

from bursar.guard.forkserver import landlock

PRELUDE = f"""
import sys; sys.path.append({str(Path(landlock.__file__).parents[1])!r})
import ctypes, errno, json, os, signal, socket, stat, subprocess, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def tried(work):
    try:
        return work()
    except OSError as error:
        return errno.errorcode[error.errno]
def asked(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode[ctypes.get_errno()] if result < 0 else result
def content(path):
    with open(path) as file:
        return file.read()
"""
