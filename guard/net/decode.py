"""Content encodings, undone in bounded steps: no call expands more than a fixed number of bytes at once."""

import importlib
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Protocol

ACCEPTED = "gzip, deflate, br, zstd"
"""What to ask a server for."""

STEP_BYTES = 256 * 1024
# RFC 9659: what a zstd stream on the web may ask for.
_ZSTD_WINDOW_LOG = 23


class DecodeError(Exception):
    """The content is not what its encoding says; one line without a full stop."""


class Decoder(Protocol):
    """Takes encoded bytes and gives decoded ones, some `STEP_BYTES` at a time, whatever they expand to."""

    @property
    def finished(self) -> bool:
        """Whether a complete stream has been read."""
        ...

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode `data`; a caller that has seen enough just stops asking.

        Raises:
            DecodeError: the bytes are not in this encoding.
        """
        ...


class _Inflater(Protocol):
    """What `zlib.decompressobj` gives."""

    @property
    def eof(self) -> bool: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _BrotliInner(Protocol):
    """What `brotli.Decompressor` gives, which comes without types."""

    def is_finished(self) -> bool: ...
    def process(self, data: bytes, output_buffer_limit: int) -> bytes: ...


def decoder(encoding: str) -> Decoder | None:
    """Choose the decoder for a `Content-Encoding` header; None when the content is sent as it is.

    Raises:
        DecodeError: an unknown encoding, or several on top of each other, of which an honest server has no need.
    """
    layers = [layer for part in encoding.lower().split(",") if (layer := part.strip()) not in ("", "identity")]
    if not layers:
        return None
    if len(layers) > 1:
        raise DecodeError(f"the content is packed {len(layers)} times over ({', '.join(layers)[:60]})")
    make = _DECODERS.get(layers[0])
    if make is None:
        raise DecodeError(f"the encoding {layers[0][:40]!r} was not asked for and is not understood")
    return make()


class _Gzip:
    """One gzip member after the other; like browsers it ignores what follows the last one."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._ended = False

    @property
    def finished(self) -> bool:
        return self._ended or self._inner.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self._ended:
            if self._inner.eof:
                if not b"\x1f\x8b".startswith(data[:2]):
                    self._ended = True
                    return
                self._inner = zlib.decompressobj(zlib.MAX_WBITS | 16)
            yield from _inflate(self._inner, data)
            data = self._inner.unused_data


class _Deflate:
    """What servers call deflate: with zlib's two-byte header, as specified, or without."""

    def __init__(self) -> None:
        self._inner: _Inflater | None = None
        self._start = b""

    @property
    def finished(self) -> bool:
        return self._inner is not None and self._inner.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._inner is None:
            self._start += data
            if len(self._start) < 2:
                return
            first, second = self._start[:2]
            wrapped = first & 0x0F == 8 and (first << 8 | second) % 31 == 0
            self._inner = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
            data, self._start = self._start, b""
        if not self._inner.eof:
            yield from _inflate(self._inner, data)


class _Brotli:
    def __init__(self) -> None:
        # Imported only when a server uses it.
        brotli = importlib.import_module("brotli")
        self._inner: _BrotliInner = brotli.Decompressor()
        self._error: type[Exception] = brotli.error

    @property
    def finished(self) -> bool:
        return self._inner.is_finished()

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.finished:
            return
        try:
            piece = self._inner.process(data, output_buffer_limit=STEP_BYTES)
            while piece:
                yield piece
                piece = self._inner.process(b"", output_buffer_limit=STEP_BYTES)
        except self._error as error:
            raise DecodeError("the content is not valid brotli") from error


class _Zstd:
    def __init__(self) -> None:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd

        options: dict[int, int] = {zstd.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
        self._new: Callable[[], zstd.ZstdDecompressor] = lambda: zstd.ZstdDecompressor(options=options)
        self._inner = self._new()
        self._error: type[Exception] = zstd.ZstdError

    @property
    def finished(self) -> bool:
        return self._inner.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        try:
            while data:
                if self._inner.eof:
                    self._inner = self._new()
                yield self._inner.decompress(data, STEP_BYTES)
                while not (self._inner.needs_input or self._inner.eof):
                    yield self._inner.decompress(b"", STEP_BYTES)
                data = self._inner.unused_data if self._inner.eof else b""
        except self._error as error:
            raise DecodeError("the content is not valid zstd, or needs more than 8 MiB to unpack") from error


def _inflate(inner: _Inflater, data: bytes) -> Iterator[bytes]:
    try:
        while True:
            piece = inner.decompress(data, STEP_BYTES)
            if piece:
                yield piece
            data = inner.unconsumed_tail
            if inner.eof or (not data and len(piece) < STEP_BYTES):
                return
    except zlib.error as error:
        raise DecodeError("the content is not valid gzip or deflate") from error


_DECODERS: dict[str, Callable[[], Decoder]] = {
    "gzip": _Gzip,
    "x-gzip": _Gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _Zstd,
}
