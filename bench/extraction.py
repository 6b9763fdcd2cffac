"""Measures main-content extraction on WCXB: F1 per page type, and time per page, of what web_fetch really gives.

    python bench/extraction.py DATA                          every page of the dev part, with the weights in the package
    python bench/extraction.py DATA --folds FOLDS            each page with weights that never saw its site
    python bench/extraction.py DATA --split test

DATA is an unpacked checkout of WCXB (Murrough Foley, 2026, CC-BY-4.0). The Markdown is scored with its syntax stripped,
so that the address of a link is not taken for words; the score is the benchmark's own, a bag of lower-case words.
FOLDS is written by `bench/train_blocks.py check CACHE --keep FOLDS`. Figures on the dev part without it flatter: the
weights were trained on these pages.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import statistics
import time
from collections import Counter, defaultdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bursar.content.page import extract as extraction
from bursar.content.page.forest import Forest
from bursar.content.page.judge import Judge
from bursar.content.page.lexicon import Lexicon

WORD = re.compile(r"\w+")
ADDRESS = r"\(<?(?:[^()\s]|\([^()]*\))*>?(?:\s+\"[^\"]*\")?\)"
STRIPPED = [
    (re.compile(r"^\s*(```|~~~).*$", re.MULTILINE), ""),
    (re.compile(r"!\[((?:\\.|[^\]\\])*)\]" + ADDRESS), ""),
    (re.compile(r"\[((?:\\.|[^\]\\])*)\]" + ADDRESS), r"\1"),
    (re.compile(r"^\s*\|?(?:\s*:?-{2,}:?\s*\|)+\s*:?-*:?\s*\|?\s*$", re.MULTILINE), ""),
    (re.compile(r"^(\s*)\d{1,4}[.)]\s+", re.MULTILINE), r"\1"),
    (re.compile(r"<(https?://[^>\s]+)>"), r"\1"),
    (re.compile(r"\\([\\`*_{}\[\]()#+\-.!|<>~&$])"), r"\1"),
    (re.compile(r"(?<!\w)_{1,3}(?=\S)|(?<=\S)_{1,3}(?!\w)"), ""),
]


def stripped(markdown: str) -> str:
    for pattern, kept in STRIPPED:
        markdown = pattern.sub(kept, markdown)
    return markdown


def score(wanted: str, found: str) -> float:
    truth, given = WORD.findall(wanted.lower()), WORD.findall(found.lower())
    if not truth or not given:
        return float(not truth and not given)
    return 2 * (Counter(truth) & Counter(given)).total() / (len(truth) + len(given))


_judges: list[Judge] = []
_folds: dict[str, int] = {}


def read_folds(path: Path) -> None:
    kept = json.loads(path.read_text())
    _folds.update(kept["folds"])
    for weights in kept["weights"]:
        words = weights["lexicon"]
        _judges.append(Judge(Forest.parse(weights), Lexicon(words["names"], words["words"])))


def judge_of(page: str) -> None:
    """Have pages judged by the weights that never saw the site of this one."""
    fold = _folds[page]
    extraction.judge = lambda: _judges[fold]


def measure(path: Path) -> dict[str, Any]:
    truth = json.loads(path.read_text("utf-8"))
    data = gzip.decompress((path.parents[1] / "html" / f"{path.stem}.html.gz").read_bytes())
    if _judges:
        judge_of(path.stem)
    started, started_cpu = time.perf_counter(), time.process_time()
    page = extraction.extract(data, truth.get("url") or "")
    took, cpu = time.perf_counter() - started, time.process_time() - started_cpu
    kind = ((truth.get("_internal") or {}).get("page_type") or {}).get("primary", "article")
    return {
        "id": path.stem,
        "kind": "collection" if kind == "category" else kind,
        "f1": score(truth["ground_truth"].get("main_content") or "", stripped(page.markdown)),
        "found": page.found,
        "ms": took * 1e3,
        "cpu_ms": cpu * 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--folds", type=Path)
    parser.add_argument("--every", type=int, default=1, help="only every n-th page")
    parser.add_argument("--processes", type=int, default=1, help="more than one disturbs the times")
    parser.add_argument("--json", type=Path, help="write the result of each page")
    parser.add_argument("--min-f1", type=float, default=0.0, help="exit 1 below")
    given = parser.parse_args()
    if given.folds:
        read_folds(given.folds)
    paths = sorted((given.data / given.split / "ground-truth").glob("*.json"))[:: given.every]
    measure(paths[0])  # imports are no part of a page
    if given.processes > 1:
        with get_context("fork").Pool(given.processes) as pool:
            results = pool.map(measure, paths, chunksize=8)
    else:
        results = [measure(path) for path in paths]
    report(results)
    if given.json:
        given.json.write_text(json.dumps(results))
    if statistics.fmean(result["f1"] for result in results) < given.min_f1:
        raise SystemExit(1)


def report(results: list[dict[str, Any]]) -> None:
    by_kind: dict[str, list[float]] = defaultdict(list)
    for result in results:
        by_kind[result["kind"]].append(result["f1"])
    print(f"F1 {statistics.fmean(result['f1'] for result in results):.4f} on {len(results)} pages")
    for kind, scores in sorted(by_kind.items()):
        print(f"  {kind:<14} {statistics.fmean(scores):.3f}  n={len(scores)}")
    for what in ("ms", "cpu_ms"):
        times = sorted(result[what] for result in results)
        places = {"median": len(times) // 2, "p95": int(0.95 * len(times)), "max": len(times) - 1}
        print(f"  {what:<7}" + "  ".join(f"{name} {times[place]:.0f}" for name, place in places.items()))
    found = Counter(result["found"] for result in results)
    print("  found: " + ", ".join(f"{how} {count}" for how, count in found.most_common()))


if __name__ == "__main__":
    main()
