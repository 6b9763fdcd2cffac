"""How often the encoding of a text without any declaration is told rightly, beside charset-normalizer.

python bench/encodings.py DIR

DIR holds unpacked packages of translated manual pages (manpages-cs, -de, -el, -es, -fr, -hu, -ja, -pl, -ro, -ru,
-tr, -uk, -zh: `apt-get download`, `dpkg -x`). Stretches of them are put into a page and written in the encodings that
their languages were written in. Right is a guess that reads the same text.
"""

import gzip
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from bursar.content.charset import codec_of
from bursar.content.letters import by_letters
from charset_normalizer import from_bytes

ENCODINGS = {
    "de": ["cp1252"], "fr": ["cp1252"], "es": ["cp1252"], "pl": ["iso8859-2", "cp1250"], "cs": ["iso8859-2", "cp1250"],
    "hu": ["iso8859-2", "cp1250"], "ro": ["iso8859-2"], "ru": ["koi8-r", "cp1251", "cp866"], "uk": ["cp1251"],
    "el": ["cp1253"], "tr": ["cp1254"], "ja": ["euc_jp", "cp932"], "zh_CN": ["gb18030"], "zh_TW": ["big5hkscs"],
}  # fmt: skip
LENGTHS = (300, 4_000, 40_000)
PAGES_EACH = 12


def texts(place: Path, language: str) -> Iterator[str]:
    pages = sorted(place.rglob(f"man/{language}*/**/*.gz"))
    random.Random(5).shuffle(pages)
    for page in pages[:PAGES_EACH]:
        yield gzip.decompress(page.read_bytes()).decode("utf-8", "ignore")


def samples(place: Path) -> Iterator[tuple[str, int, bytes]]:
    for language, encodings in ENCODINGS.items():
        for text in texts(place, language):
            start = next((at for at, letter in enumerate(text) if letter > "\x7f"), 0)
            for length in LENGTHS:
                stretch = text[max(0, start - 50) :][:length]
                page = f"<html><body><p>{stretch}</p></body></html>"
                for encoding in encodings:
                    data = page.encode(encoding, "ignore")
                    if not data.isascii():
                        yield encoding, length, data


def theirs(data: bytes) -> str:
    best = from_bytes(data).best()
    return "" if best is None else codec_of(best.encoding)


def main(place: Path) -> None:
    guessers: dict[str, Callable[[bytes], str | None]] = {"bursar": by_letters, "charset-normalizer": theirs}
    right, of, took = Counter[tuple[str, int]](), Counter[int](), Counter[str]()
    for encoding, length, data in samples(place):
        text = data.decode(encoding)
        of[length] += 1
        for name, guess in guessers.items():
            started = time.process_time()
            codec = guess(data)
            took[name] += time.process_time() - started
            right[name, length] += bool(codec) and data.decode(codec, "replace") == text
    for name in guessers:
        shares = "  ".join(f"{length:>6,}: {right[name, length]:>3} of {of[length]}" for length in LENGTHS)
        print(f"{name:20} {shares}  {1000 * took[name] / of.total():5.1f} ms each")


main(Path(sys.argv[1]))
