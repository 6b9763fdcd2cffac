"""A rendered document and what other programs say of it."""

import io
import re
import subprocess
import zlib
from dataclasses import dataclass

import pypdfium2
from bursar.pdf import Options, Report, render


@dataclass(frozen=True)
class Rendered:
    pdf: bytes
    report: Report

    def text(self, *options: str) -> str:
        done = subprocess.run(["pdftotext", *options, "-", "-"], input=self.pdf, capture_output=True, check=True)
        return done.stdout.decode("utf-8", "replace")

    @property
    def pages(self) -> list[str]:
        return self.text().split("\f")[:-1]

    @property
    def words(self) -> list[tuple[int, float, float, float, float, str]]:
        """Page, left, top, right, bottom and text of every word."""
        found = []
        for number, page in enumerate(self.text("-bbox").split("<page ")[1:], 1):
            pattern = r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</word>'
            for left, top, right, bottom, word in re.findall(pattern, page):
                found.append((number, float(left), float(top), float(right), float(bottom), word))
        return found

    @property
    def objects(self) -> bytes:
        """All that the file says, streams unpacked."""
        streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", self.pdf, re.DOTALL)
        return b"\n".join((self.pdf, *map(_unpacked, streams)))

    @property
    def bookmarks(self) -> list[str]:
        return [one.get_title() for one in pypdfium2.PdfDocument(self.pdf).get_toc()]

    @property
    def links(self) -> int:
        """How many places can be clicked."""
        return self.objects.count(b"/Subtype/Link")

    @property
    def operators(self) -> bytes:
        """All content streams."""
        streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", self.pdf, re.DOTALL)
        return b"\n".join(found for found in map(_unpacked, streams) if b" Tf" in found)


def _unpacked(stream: bytes) -> bytes:
    try:
        return zlib.decompress(stream)
    except zlib.error:
        return b""


def rendered(source: str, pictures=None, **options) -> Rendered:
    made = io.BytesIO()
    report = render(source, Options(**options), made, pictures)
    return Rendered(made.getvalue(), report)
