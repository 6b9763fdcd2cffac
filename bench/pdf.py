"""Measures write_pdf: speed beside fpdf2's own `multi_cell` for the same text, memory, and what pdftotext gives back.

    python bench/pdf.py                  everything; some five minutes, most of them multi_cell's
    python bench/pdf.py --pages 100      smaller documents

Each measurement is a process of its own, ours and theirs in turn, so that peaks of memory do not mix. Times are of the
rendering, fonts and output included, imports and the unpacking of our fonts not; they are wall-clock, with processor
time in brackets. The round trip needs pdftotext (poppler-utils), the comparison needs fpdf2, which is not installed
with bursar.
"""

import argparse
import io
import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUPPORT = Path(__file__).parent.parent / "tests" / "support"
COMMON = """
the of and to in is that it was for on are with as his they be at one have this from or had by hot word but
what some we can out other were all there when up use your how said an each she which do their time if will
way about many then them write would like so these her long make thing see him two has look more day could go
come did number sound no most people my over know water than call first who may down side been now find any
new work part take get place made live where after back little only round man year came show every good me
give our under name
"""
WORDS = COMMON.split()
HAN = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经么去法学如都同现当没动"
    "面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两高间由问很最重并物手应战"
    "向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题"
)


def sentence(words: int) -> str:
    ends = ("", "", "", "ing", "ed", "s")
    return " ".join(random.choice(WORDS) + random.choice(ends) for _ in range(words)).capitalize() + "."


def english(pages: int) -> str:
    return "\n\n".join(sentence(random.randint(40, 130)) for _ in range(pages * 7))


def chinese(pages: int) -> str:
    def paragraph() -> str:
        text = "".join(random.choice(HAN) for _ in range(random.randint(150, 330)))
        return "，".join(text[i : i + 13] for i in range(0, len(text), 13)) + "。"

    return "\n\n".join(paragraph() for _ in range(round(pages * 6.8)))


def mixed(pages: int) -> str:
    parts: list[str] = []
    for number in range(round(pages * 1.22)):
        parts.append(
            f"## Section {number}\n\n{sentence(60)} **{sentence(6)}** and *{sentence(5)}* with `code_{number}`."
        )
        parts.append("\n".join(f"- {sentence(9)}" for _ in range(5)))
        rows = "\n".join(f"| {random.choice(WORDS)} | {random.randint(0, 99999)} | {sentence(6)} |" for _ in range(6))
        parts.append(f"| Name | Value | Notes |\n|---|---:|---|\n{rows}")
        parts.append("```python\n" + "\n".join(f"def f{i}(x):\n    return x + {i}" for i in range(4)) + "\n```")
        parts.append(sentence(70))
    return "\n\n".join(parts)


KINDS = {"english": english, "chinese": chinese, "mixed": mixed}


def ours(source: str, kind: str) -> int:
    from bursar.pdf import Options, render

    return render(source, Options(plain=False), io.BytesIO()).pages


class Theirs:
    """The same text through `multi_cell`: same fonts, sizes, leading and margins; each cell of a table is one."""

    def __init__(self, kind: str, folder: str) -> None:
        import pymupdf_fonts
        from fpdf import FPDF
        from noto_cjk_sans_otc import FONT_PATH

        self.pdf = pdf = FPDF(unit="pt", format="A4")
        pdf.set_margins(62, 62, 62)
        pdf.set_auto_page_break(True, 62)
        if kind == "chinese":
            pdf.add_font("body", fname=str(FONT_PATH), collection_font_number=2)
        else:
            faces = [("body", "", "notos")]
            if kind == "mixed":
                faces += [("body", "B", "notosbo"), ("body", "I", "notosit"), ("code", "", "fimo")]
            for family, style, name in faces:
                path = Path(folder, name).with_suffix(".ttf")
                path.write_bytes(pymupdf_fonts.myfont(name))
                pdf.add_font(family, style, str(path))
        pdf.set_font("body", size=10.5)
        pdf.add_page()

    def line(self, text: str, size: float, style: str = "", *, markdown: bool = False) -> None:
        self.pdf.set_font("body", style, size)
        self.pdf.multi_cell(0, size * 1.46, text, new_x="LMARGIN", new_y="NEXT", markdown=markdown)

    def row(self, line: str) -> None:
        pdf = self.pdf
        if pdf.will_page_break(28):
            pdf.add_page()
        top, cells = pdf.get_y(), line.strip("| ").split(" | ")
        low = top
        for place, cell in enumerate(cells):
            pdf.set_xy(62 + place * 157, top)
            pdf.multi_cell(157, 14, cell, new_x="RIGHT", new_y="NEXT")
            low = max(low, pdf.get_y())
        pdf.set_xy(62, low)

    def block(self, text: str) -> None:
        pdf = self.pdf
        if text.startswith("```"):
            pdf.set_font("code", size=9)
            for line in text.split("\n")[1:-1]:
                pdf.multi_cell(0, 12, line, new_x="LMARGIN", new_y="NEXT")
        elif text.startswith("|"):
            pdf.set_font("body", size=9.7)
            for line in text.split("\n"):
                if not re.fullmatch(r"\|[-:| ]+\|", line):
                    self.row(line)
        else:
            for line in text.split("\n"):
                heading = line.startswith("## ")
                marked = "*" in line or "`" in line
                # Its own markdown knows two stars for bold and two underscores for italics.
                styled = (
                    re.sub(r"(?<!\*)\*(?!\*)", "__", line.replace("`", "")).removeprefix("## ")
                    if marked or heading
                    else line
                )
                self.line(styled, 16.3 if heading else 10.5, "B" if heading else "", markdown=marked)
        pdf.ln(7)


def theirs(source: str, kind: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        document = Theirs(kind, folder)
        for text in source.split("\n\n"):
            document.block(text)
        document.pdf.output()
        return document.pdf.pages_count


def child(side: str, kind: str, pages: int) -> None:
    random.seed(7)
    source = KINDS[kind](pages)
    if side == "theirs":
        import fpdf  # noqa: F401
    else:
        from bursar.pdf.work import load

        load()
    wall, cpu = time.perf_counter(), time.process_time()
    made = {"ours": ours, "theirs": theirs}[side](source, kind)
    figures = {
        "pages": made,
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        / (1 << 20 if sys.platform == "darwin" else 1 << 10),
        "characters": len(source),
    }
    print(json.dumps(figures))


def measured(side: str, kind: str, pages: int) -> dict[str, float]:
    """Return the better of two runs: on a shared machine the worse one measures the others."""
    command = [sys.executable, __file__, "--child", side, kind, "--pages", str(pages)]
    runs = [json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout) for _ in range(2)]
    return {**runs[0], **{name: min(run[name] for run in runs) for name in ("wall_s", "cpu_s")}}


def speed(pages: int) -> None:
    print("| text | characters | pages | write_pdf s (cpu) | multi_cell s (cpu) | ratio (cpu) | peak MB |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for kind in KINDS:
        we, they = measured("ours", kind, pages), measured("theirs", kind, pages)
        print(
            f"| {kind} | {we['characters']:,.0f} | {we['pages']:.0f} | {we['wall_s']:.2f} ({we['cpu_s']:.2f}) "
            f"| {they['wall_s']:.1f} ({they['cpu_s']:.1f}) "
            f"| {they['wall_s'] / we['wall_s']:.1f} ({they['cpu_s'] / we['cpu_s']:.1f}) | {we['peak_mb']:.0f} |",
            flush=True,
        )


def round_trip() -> None:
    sys.path.insert(0, str(SUPPORT))
    import round_trip as measure

    print("\n| sample | characters that come back, % |\n|---|---:|")
    for path in sorted(measure.SAMPLES.glob("*.md")):
        print(f"| {path.stem} | {measure.recovered(path.stem):.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=500)
    parser.add_argument("--child", nargs=2, metavar=("SIDE", "KIND"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(*options.child, options.pages)
        return
    speed(options.pages)
    round_trip()


if __name__ == "__main__":
    main()
