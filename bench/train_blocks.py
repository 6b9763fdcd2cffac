"""Trains the trees that tell a page's main content from the rest, and measures them by cross-validation.

    python bench/train_blocks.py describe DATA CACHE    where bursar is installed: candidates and features, to disk
    python bench/train_blocks.py check CACHE            with numpy, lightgbm, rapidfuzz, turbohtml: cross-validation
    python bench/train_blocks.py fit CACHE WEIGHTS      with the same: train on everything, write the weights

DATA is an unpacked WCXB dev part (Murrough Foley, 2026, CC-BY-4.0): `dev/html/*.html.gz`, `dev/ground-truth/*.json`.
Folds are made of whole sites (registered domains), so that no page is judged by trees that have seen its site.
Nothing of the training is needed at run time: `bursar.content.page.forest` reads the weights in plain Python.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import math
import pickle
import random
import statistics
from collections import Counter, defaultdict
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

FOLDS = 5
ROUNDS, EARLY, SURE = 160, 50, 3.0
PARAMS: dict[str, Any] = {
    "objective": "cross_entropy",
    "learning_rate": 0.08,
    "num_leaves": 31,
    "max_bin": 63,
    "min_data_in_leaf": 60,
    "feature_fraction": 0.25,
    "bagging_fraction": 0.5,
    "bagging_freq": 1,
    "lambda_l2": 5.0,
    "num_threads": 1,
    "verbose": -1,
    "seed": 1,
    "deterministic": True,
}
UNIT = 0.002
SHORT_WORDS = 16
LEXICON_COLUMNS = ("names_near", "names_far", "names_worst", "names_best", "words_mean", "words_worst")


# ------------------------------------------------------------------------------------------------ describe
def describe_page(job: tuple[str, str]) -> None:
    """Write everything the training needs of one page; candidates are kept apart, because they are slow and final."""
    from bursar.content.page.candidates import candidate_texts
    from bursar.content.page.features import NAMES, VOTERS, describe
    from bursar.content.page.formulas import formulas_to_tex
    from bursar.content.page.lexicon import spoken
    from bursar.content.page.prepare import parse_page, prepare
    from bursar.content.page.segments import segment, words_of
    from bursar.content.page.traits import traits
    from bursar.content.page.votes import Candidate

    truth_path, cache = Path(job[0]), Path(job[1])
    key = truth_path.stem
    truth = json.loads(truth_path.read_text("utf-8"))
    html = gzip.decompress((truth_path.parents[1] / "html" / f"{key}.html.gz").read_bytes()).decode("utf-8", "replace")
    document = parse_page(html)
    declared = traits(document, truth.get("url") or "")
    prepare(document)
    formulas_to_tex(document)
    kept = cache / "candidates" / f"{key}.json"
    if not kept.exists():
        kept.write_text(json.dumps(candidate_texts(document)), "utf-8")
    texts: dict[str, str] = json.loads(kept.read_text("utf-8"))
    segments = segment(document)
    rows = describe(segments, [Candidate.of(texts.get(voter, "")) for voter in VOTERS], declared)
    reference = truth["ground_truth"].get("main_content") or ""
    kind = ((truth.get("_internal") or {}).get("page_type") or {}).get("primary", "article")
    page = {
        "id": key,
        "url": truth.get("url") or "",
        "kind": "collection" if kind == "category" else kind,
        "names": NAMES,
        "rows": rows,
        "words": [block.words for block in segments.blocks],
        "spoken": [spoken(block) for block in segments.blocks],
        "reference": words_of(reference.lower()),
    }
    (cache / "pages" / f"{key}.pickle").write_bytes(gzip.compress(pickle.dumps(page), 1))


def describe_all(data: Path, cache: Path, processes: int) -> None:
    for folder in ("candidates", "pages"):
        (cache / folder).mkdir(parents=True, exist_ok=True)
    truths = sorted((data / "dev" / "ground-truth").glob("*.json"))
    (cache / "data.json").write_text(json.dumps({"sha256": fingerprint(data), "pages": len(truths)}))
    with get_context("fork").Pool(processes) as pool:
        for number, _ in enumerate(pool.imap_unordered(describe_page, [(str(path), str(cache)) for path in truths]), 1):
            if number % 100 == 0:
                print(f"{number} of {len(truths)}", flush=True)


def fingerprint(data: Path) -> str:
    """Hash names and contents of all pages and ground truths, in the order of their names."""
    digest = hashlib.sha256()
    for path in sorted((data / "dev").rglob("*")):
        if path.is_file():
            digest.update(
                f"{path.relative_to(data).as_posix()}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
            )
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------ check and fit
def load(cache: Path) -> list[dict[str, Any]]:
    import numpy as np

    pages = []
    for path in sorted((cache / "pages").glob("*.pickle")):
        page = pickle.loads(gzip.decompress(path.read_bytes()))
        page["rows"] = np.array(page["rows"], dtype=np.float32).reshape(-1, len(page["names"]))
        page["sizes"] = np.array([len(words) for words in page["words"]], dtype=np.float64)
        page["target"] = targets(page)
        page["counts"] = Counter(page["reference"])
        page["site"] = site(page)
        page["tally"] = tally(page)
        pages.append(page)
    sites = sorted({page["site"] for page in pages})
    random.Random(0).shuffle(sites)
    fold = {name: number % FOLDS for number, name in enumerate(sites)}
    for page in pages:
        page["fold"] = fold[page["site"]]
    return pages


def site(page: dict[str, Any]) -> str:
    """The registered domain, near enough: two labels, or three under a short second one of a country such as co.uk."""
    labels = (urlsplit(page["url"]).hostname or page["id"]).split(".")
    is_second_level = len(labels) > 2 and len(labels[-1]) == 2 and len(labels[-2]) <= 3
    return ".".join(labels[-3:] if is_second_level else labels[-2:])


def targets(page: dict[str, Any]) -> Any:
    """The share of each block's words that a longest common subsequence of page and reference keeps."""
    import numpy as np
    from rapidfuzz.distance import LCSseq

    numbers: dict[str, int] = {}
    flat = [numbers.setdefault(word, len(numbers)) for words in page["words"] for word in words]
    owners = [place for place, words in enumerate(page["words"]) for _ in words]
    reference = [numbers.setdefault(word, len(numbers)) for word in page["reference"]]
    hits = np.zeros(len(page["words"]))
    for step in LCSseq.opcodes(flat, reference[: int(4e9 / max(1, len(flat)))]):
        if step.tag == "equal":
            for place in range(step.src_start, step.src_end):
                hits[owners[place]] += 1
    return hits / np.maximum(1, page["sizes"])


Tally = dict[str, list[float]]
"""By word: the sum of the targets of the blocks it stands with, and their number."""


def tally(page: dict[str, Any]) -> dict[str, Tally]:
    tables: dict[str, Tally] = {"names": {}, "words": {}}
    for target, (near, far), words in zip(page["target"], page["spoken"], page["words"], strict=True):
        short = set(words) if len(words) <= SHORT_WORDS else ()
        for table, tokens in (("names", (*near, *far)), ("words", short)):
            for token in tokens:
                entry = tables[table].setdefault(token, [0.0, 0.0])
                entry[0] += target
                entry[1] += 1
    return tables


def lexicon(pages: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Log odds of main content by word, for words of enough sites; each site counts once for a word."""
    weights: dict[str, dict[str, float]] = {}
    for table, (sites, most) in {"names": (8, 550), "words": (12, 650)}.items():
        by_site: dict[str, Tally] = defaultdict(dict)
        for page in pages:
            merged = by_site[page["site"]]
            for token, (good, count) in page["tally"][table].items():
                entry = merged.setdefault(token, [0.0, 0.0])
                entry[0] += good
                entry[1] += count
        shares: dict[str, list[float]] = defaultdict(list)
        for merged in by_site.values():
            for token, (good, count) in merged.items():
                shares[token].append(good / count)
        kept = {
            token: round(math.log((sum(found) + 1) / (len(found) - sum(found) + 1)), 2)
            for token, found in shares.items()
            if len(found) >= sites and len(token) > 1
        }
        chosen = sorted(kept, key=lambda token: -abs(kept[token]) * math.sqrt(len(shares[token])))[:most]
        weights[table] = {token: kept[token] for token in sorted(chosen)}
    return weights


def with_lexicon(page: dict[str, Any], tables: dict[str, dict[str, float]]) -> Any:
    import numpy as np

    weigh = runtime("lexicon").Lexicon(tables["names"], tables["words"]).weigh
    extra = [weigh(near, far, words) for (near, far), words in zip(page["spoken"], page["words"], strict=True)]
    return np.hstack([page["rows"], np.array(extra, dtype=np.float32).reshape(-1, len(LEXICON_COLUMNS))])


def crossed(pages: list[dict[str, Any]]) -> list[Any]:
    """The pages' rows with lexicon columns, each from a lexicon that has not seen the page's site."""
    sites = sorted({page["site"] for page in pages})
    random.Random(7).shuffle(sites)
    part = {name: number % 4 for number, name in enumerate(sites)}
    tables = [lexicon([page for page in pages if part[page["site"]] != number]) for number in range(4)]
    return [with_lexicon(page, tables[part[page["site"]]]) for page in pages]


def train(pages: list[dict[str, Any]]) -> dict[str, Any]:
    import lightgbm
    import numpy as np

    rows = np.concatenate(crossed(pages))
    target = np.concatenate([page["target"] for page in pages])
    # An error of a word costs F1 the more, the shorter the reference is.
    weight = np.concatenate([page["sizes"] / (len(page["reference"]) + 50) for page in pages]).clip(1e-4, 3)
    data = lightgbm.Dataset(rows, target, weight=weight / weight.mean())
    model = lightgbm.train(PARAMS, data, ROUNDS)
    early = model.predict(rows, raw_score=True, num_iteration=EARLY)
    settled = np.abs(early) > SURE
    stretch = float((model.predict(rows[settled], raw_score=True) / early[settled]).mean())
    print(f"{settled.mean():.0%} of the blocks are settled after {EARLY} trees; stretch {stretch:.2f}", flush=True)
    words = {"lexicon": lexicon(pages), "early": EARLY, "sure": SURE, "stretch": round(stretch, 3)}
    return export(model, pages[0]["names"]) | words


def f1(page: dict[str, Any], kept: Any) -> float:
    found: Counter[str] = Counter()
    for stays, words in zip(kept, page["words"], strict=True):
        if stays:
            found.update(words)
    total, wanted = found.total(), len(page["reference"])
    if not wanted or not total:
        return float(wanted == total)
    return 2 * (found & page["counts"]).total() / (total + wanted)


def choose(sizes: Any, probabilities: Any) -> Any:
    """As `bursar.content.page.choice.choose`."""
    import numpy as np

    order = np.argsort(-probabilities)
    right = np.cumsum((probabilities * sizes)[order])
    taken = np.cumsum(sizes[order])
    kept = np.zeros(len(sizes), dtype=bool)
    if len(sizes):
        kept[order[: int((2 * right / (taken + (probabilities * sizes).sum())).argmax()) + 1]] = True
    return kept


def check_fold(job: tuple[list[dict[str, Any]], int]) -> tuple[dict[str, tuple[str, float]], dict[str, Any]]:
    pages, fold = job
    import numpy as np

    known = [page for page in pages if page["fold"] != fold]
    weights = train(known)
    forest = runtime("forest").Forest.parse(weights)
    scores = {}
    for page in pages:
        if page["fold"] == fold:
            rows = with_lexicon(page, weights["lexicon"])
            probabilities = np.array(forest.probabilities(rows.tolist()))
            scores[page["id"]] = (page["kind"], f1(page, choose(page["sizes"], probabilities)))
    return scores, weights


def runtime(module: str) -> Any:
    """The very code of the run time, `bursar.content.page.<module>`, without the rest of bursar around it."""
    import importlib
    import sys
    import types

    if "page" not in sys.modules:
        package = types.ModuleType("page")
        package.__path__ = [str(Path(__file__).resolve().parents[1] / "content" / "page")]
        sys.modules["page"] = package
    return importlib.import_module(f"page.{module}")


def check(cache: Path, processes: int, keep: Path | None) -> None:
    pages = load(cache)
    with get_context("fork").Pool(processes) as pool:
        results = pool.map(check_fold, [(pages, fold) for fold in range(FOLDS)])
    scores = [score for found, _ in results for score in found.values()]
    by_kind: dict[str, list[float]] = defaultdict(list)
    for kind, score in scores:
        by_kind[kind].append(score)
    print(f"{FOLDS}-fold, by site: F1 {statistics.fmean(s for _, s in scores):.4f} on {len(scores)} pages")
    for kind, found in sorted(by_kind.items()):
        print(f"  {kind:<14} {statistics.fmean(found):.3f}  n={len(found)}")
    if keep is not None:
        folds = {page["id"]: page["fold"] for page in pages}
        keep.write_text(json.dumps({"folds": folds, "weights": [weights for _, weights in results]}))


def export(model: Any, names: list[str]) -> dict[str, Any]:
    """Write the trees compactly: preorder, columns and cuts as small numbers, leaves in thousandths."""
    names = [*names, *LEXICON_COLUMNS]
    trees = model.dump_model()["tree_info"]
    used: set[tuple[int, float]] = set()

    def collect(node: dict[str, Any]) -> None:
        if "split_feature" in node:
            used.add((node["split_feature"], short(node["threshold"])))
            collect(node["left_child"])
            collect(node["right_child"])

    for tree in trees:
        collect(tree["tree_structure"])
    columns = sorted({column for column, _ in used})
    cuts = [sorted(cut for column, cut in used if column == wanted) for wanted in columns]
    place = {column: number for number, column in enumerate(columns)}

    def walk(node: dict[str, Any], nodes: list[int], leaves: list[int]) -> None:
        if "split_feature" not in node:
            nodes.append(-1)
            leaves.append(round(node["leaf_value"] / UNIT))
            return
        column = place[node["split_feature"]]
        nodes += [column, cuts[column].index(short(node["threshold"]))]
        walk(node["left_child"], nodes, leaves)
        walk(node["right_child"], nodes, leaves)

    grown = []
    for tree in trees:
        nodes: list[int] = []
        leaves: list[int] = []
        walk(tree["tree_structure"], nodes, leaves)
        grown.append([nodes, leaves])
    return {
        "names": [names[column] for column in columns],
        "places": columns,
        "cuts": cuts,
        "trees": grown,
        "unit": UNIT,
    }


def short(number: float) -> float:
    return float(f"{number:.4g}")


def fit(cache: Path, out: Path) -> None:
    pages = load(cache)
    data = json.loads((cache / "data.json").read_text())
    weights = train(pages)
    about = {
        "about": "Trained by bench/train_blocks.py on the development part of WCXB, the Web Content eXtraction "
        "Benchmark by Murrough Foley (2026), CC-BY-4.0, https://creativecommons.org/licenses/by/4.0/",
        "pages": data["pages"],
        "data_sha256": data["sha256"],
    }
    out.write_text(json.dumps({**about, **weights}, separators=(",", ":")) + "\n")
    print(f"{out}: {out.stat().st_size:,} bytes, {len(weights['trees'])} trees, {len(weights['names'])} columns")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--keep", type=Path, help="check: write folds and weights of each fold, for bench/extraction.py"
    )
    parser.add_argument("what", choices=["describe", "check", "fit"])
    parser.add_argument("paths", type=Path, nargs="+")
    given = parser.parse_args()
    if given.what == "describe":
        describe_all(given.paths[0], given.paths[1], given.processes)
    elif given.what == "check":
        check(given.paths[0], given.processes, given.keep)
    else:
        fit(given.paths[0], given.paths[1])


if __name__ == "__main__":
    main()
