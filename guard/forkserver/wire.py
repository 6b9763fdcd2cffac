"""How a server and its helper processes talk: messages of JSON, each after its length, with open files beside them."""

import array
import json
import os
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

_HEAD = struct.Struct("!I")
HEAD_BYTES = _HEAD.size
_FILES_MAX = 5
_PART_BYTES = 256 * 1024

Message = dict[str, Any]


def framed(body: bytes) -> bytes:
    """Return a message that is JSON already as it is sent."""
    return _HEAD.pack(len(body)) + body


def packed(message: Message) -> bytes:
    """Return a message as it is sent."""
    return framed(json.dumps(message).encode())


def length_of(head: bytes) -> int:
    """Return how many bytes follow the first `HEAD_BYTES` of a message."""
    return _HEAD.unpack(head)[0]


def read(file: BinaryIO, most_bytes: int = sys.maxsize) -> "bytes | None":
    """Return the next message; None at the end, and where one is longer than `most_bytes`. Blocks."""
    head = file.read(HEAD_BYTES)
    if len(head) < HEAD_BYTES or length_of(head) > most_bytes:
        return None
    body = file.read(length_of(head))
    return body if len(body) == length_of(head) else None


class Inbox:
    """Puts together what arrives in parts."""

    def __init__(self) -> None:
        self._held = b""

    def add(self, part: bytes) -> Iterator[Message]:
        """Take in a part, and yield each message that is whole now."""
        self._held += part
        while len(self._held) >= HEAD_BYTES:
            end = HEAD_BYTES + length_of(self._held[:HEAD_BYTES])
            if len(self._held) < end:
                return
            body, self._held = self._held[HEAD_BYTES:end], self._held[end:]
            yield json.loads(body)


if sys.platform != "win32":

    def memory_file(data: bytes) -> int:
        """Put bytes where another process can read them: return the descriptor of a nameless file, at its start.

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

    def receive(connection: socket.socket) -> "tuple[Message, list[int]]":
        """Return the next message of the server, and the open files that came with it, which are the caller's. Blocks.

        Raises:
            EOFError: there is none any more.
        """
        files = array.array("i")
        flags = socket.MSG_CMSG_CLOEXEC if sys.platform == "linux" else 0
        try:
            head, extras, _, _ = connection.recvmsg(HEAD_BYTES, socket.CMSG_SPACE(_FILES_MAX * files.itemsize), flags)
            for level, kind, data in extras:
                if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                    files.frombytes(data[: len(data) - len(data) % files.itemsize])
            head += _exactly(connection, HEAD_BYTES - len(head))
            return json.loads(_exactly(connection, length_of(head))), list(files)
        except (OSError, EOFError):
            for fd in files:
                os.close(fd)
            raise EOFError from None

    def send(connection: socket.socket, message: Message, files: Sequence[int] = ()) -> None:
        """Send a message and open files, all or nothing.

        Raises:
            BlockingIOError: the other side does not keep up.
            OSError: it is gone.
        """
        socket.send_fds(connection, [packed(message)], files)

    def _exactly(connection: socket.socket, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            part = connection.recv(min(length - len(data), _PART_BYTES))
            if not part:
                raise EOFError
            data += part
        return bytes(data)
