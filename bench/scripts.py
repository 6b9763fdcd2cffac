"""Measures main-content extraction in scripts that the benchmarks have not: real texts in the frames of real pages.

    python bench/scripts.py DATA PLACE                   with the weights in the package
    python bench/scripts.py DATA PLACE --folds FOLDS     each page with weights that never saw its site

DATA is an unpacked WCXB dev part (see `bench/extraction.py`). PLACE gets Debian's handbook, which is there in many
languages. Every run of text on a page of WCXB gives way to text of the handbook that is about as long: what belongs to
the main content to paragraphs that follow one another, anything else (menus, lists of links, teasers, notices) to
headings and beginnings of paragraphs. So frame and text are real, and what the main content is stands fast. Scored is
F1 of words, in scripts without spaces of pairs of characters.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
import statistics
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path

import extraction as bench
from bursar.content.page.candidates import candidate_texts
from bursar.content.page.extract import extract
from bursar.content.page.prepare import parse_page, prepare
from bursar.content.page.segments import segment, words_of
from bursar.content.page.votes import Candidate, shares
from turbohtml import Document

LANGUAGES = {"zh": "zh-CN", "ja": "ja-JP", "ar": "ar-MA", "ru": "ru-RU"}
WIDTHS = {"zh": 1.7, "ja": 2.4, "ar": 5.6, "ru": 6.8}
"""Characters that say what an English word says."""

_CONTENT, _SHORT_WORDS = 0.5, 9
_LEAST_CONTENT, _LEAST_BESIDE = 200, 150
"""Words of a page that is measured: an article with much around it."""


class Texts:
    """Paragraphs and headings of the handbook in a language."""

    def __init__(self, place: Path, language: str) -> None:
        folder = place / "debian-handbook" / "usr/share/doc/debian-handbook/html" / LANGUAGES[language]
        if not folder.exists():
            place.mkdir(parents=True, exist_ok=True)
            subprocess.run(["apt-get", "download", "-q", "debian-handbook"], cwd=place, check=True)
            archive = next(place.glob("debian-handbook_*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive, place / "debian-handbook"], check=True)
        self.paragraphs: list[str] = []
        self.titles: list[str] = []
        for path in sorted(folder.glob("*.html")):
            page = parse_page(path.read_text("utf-8"))
            self.paragraphs += [text for p in page.select("div.para, p") if len(text := flat(p.text)) > 40]
            self.titles += [text for h in page.select("h1, h2, h3, h4, dt") if 1 < len(text := flat(h.text)) < 60]
        self.titles = sorted({*self.titles, *(text[:40] for text in self.paragraphs)})


@cache
def texts_of(place: Path, language: str) -> Texts:
    return Texts(place, language)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def translated(html: str, reference: str, texts: Texts, width: float, seed: str) -> tuple[Document, str]:
    """Return a page with other text in it, and what its main content is then."""
    chance = random.Random(seed)
    document = parse_page(html)
    truth: list[str] = []
    main = Candidate.of(reference)
    following = " ".join(texts.paragraphs[chance.randrange(len(texts.paragraphs)) :] + texts.paragraphs)
    at = 0
    for block in segment(document).blocks:
        is_content = shares(block, [main])[0] >= _CONTENT
        has_title = len(block.words) < _SHORT_WORDS
        for node in block.nodes:
            count = len(words_of(node.data))
            if not count:
                continue
            size = max(2, round(count * width * chance.uniform(0.8, 1.25)))
            if is_content and not has_title:
                text, at = following[at : at + size], at + size
            else:
                text = chance.choice(texts.titles)
                while len(text) < size:
                    text += " " + chance.choice(texts.titles)
                text = text[:size]
            lead, tail = node.data[:1].isspace() * " ", node.data[-1:].isspace() * " "
            if is_content and has_title and node.data.rstrip()[-1:] in ".!?":
                text += "。" if width < 3 else "."
            node.data = lead + text + tail
            if is_content:
                truth.append(lead + text + tail)
        truth.append("\n" if is_content else "")
    return document, "".join(truth)


def pairs(text: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for run in re.findall(r"\w+", text.lower()):
        is_spaced = len(words_of(run)) == 1 and len(run) > 2
        found.update([run] if is_spaced or len(run) == 1 else map("".join, pairwise(run)))
    return found


def score(wanted: str, given: str) -> float:
    truth, found = pairs(wanted), pairs(given)
    return 2 * (truth & found).total() / max(1, truth.total() + found.total())


def pages(data: Path, most: int) -> Iterator[tuple[str, str, dict]]:
    """Yield articles with much around them: name, HTML, ground truth."""
    for path in sorted((data / "dev" / "ground-truth").glob("*.json")):
        truth = json.loads(path.read_text("utf-8"))
        kind = ((truth.get("_internal") or {}).get("page_type") or {}).get("primary", "article")
        reference = truth["ground_truth"].get("main_content") or ""
        if kind != "article" or len(words_of(reference)) < _LEAST_CONTENT:
            continue
        html = gzip.decompress((data / "dev" / "html" / f"{path.stem}.html.gz").read_bytes()).decode("utf-8", "replace")
        around = sum(len(block.words) for block in segment(parse_page(html)).blocks) - len(words_of(reference))
        if around >= _LEAST_BESIDE:
            yield path.stem, html, truth
            most -= 1
        if not most:
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("place", type=Path)
    parser.add_argument("--folds", type=Path)
    parser.add_argument("--pages", type=int, default=60)
    given = parser.parse_args()
    if given.folds:
        bench.read_folds(given.folds)
    chosen = list(pages(given.data, given.pages))
    for language in LANGUAGES:
        texts = texts_of(given.place, language)
        scores: dict[str, list[float]] = {}
        for key, html, truth in chosen:
            reference = truth["ground_truth"]["main_content"]
            document, wanted = translated(html, reference, texts, WIDTHS[language], key)
            if given.folds:
                bench.judge_of(key)
            page = extract(document.html, truth.get("url") or "")
            prepare(document)
            found = {"bursar": bench.stripped(page.markdown), **candidate_texts(document)}
            for name, text in found.items():
                scores.setdefault(name, []).append(score(wanted, text))
        means = ", ".join(f"{name} {statistics.fmean(values):.3f}" for name, values in scores.items())
        print(f"{language}, {len(chosen)} pages: {means}", flush=True)


if __name__ == "__main__":
    main()
