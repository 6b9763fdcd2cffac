"""Every character is drawn with a font that has it, as wide as it is, by every reader."""

import io
import subprocess

import pypdfium2
import pytest
from bursar.pdf.fonts import Fonts
from bursar.pdf.work import status
from PIL import Image, ImageChops, ImageFilter, ImageStat
from rendered import rendered

WORD = "中文字符"


@pytest.mark.needs("pdftotext")
@pytest.mark.parametrize("code", ["", f"\n\n```\n{WORD}\n```", f"\n\n`{WORD}`"])
def test_a_character_is_as_wide_in_a_sentence_as_it_is_without_code(code):
    words = rendered(f"{WORD} in a sentence{code}", page_numbers=False).words
    left, right = next((left, right) for _, left, _, right, _, word in words if word == WORD)
    assert right - left == pytest.approx(10.5 * len(WORD), abs=0.1)


@pytest.mark.needs("pdftotext")
@pytest.mark.parametrize("text", ["ทั้งปวง ที่นี่ น้ำ", "b̄ m̄ ε̄́ x̣", "हक़ आज़ादियों देश", "שָּׁלוֹם", "الإعلان", "ضميرًا"])
def test_letters_with_marks_come_back_once_and_in_their_order(text):
    for source in (text, f"**{text}**", f"*{text}*"):
        assert rendered(source, page_numbers=False).text().strip("\n\f\u202a\u202b\u202c") == text


def test_a_sign_that_is_the_same_as_two_is_drawn_as_one():
    # The body font has = and the stroke through it, but not the sign.
    assert b"NotoSans-Regular" not in rendered("≠", page_numbers=False).objects


@pytest.mark.needs("pdftotext")
def test_columns_of_code_line_up_whatever_font_draws_them():
    words = rendered("```\n中文 x\nabcd x\n→≤ab x\n```", page_numbers=False).words
    assert len({round(left, 1) for _, left, _, _, _, word in words if word == "x"}) == 1


@pytest.mark.needs("pdftotext")
def test_readers_agree_on_how_every_kind_of_font_looks():
    made = rendered("# Aq →∀≤⛅♞𝄞\n\n中文 日本語 한국어\n\n`code` עברית عربي हिन्दी é̱\n", page_numbers=False)
    drawn = subprocess.run(
        ["pdftoppm", "-r", "72", "-png", "-singlefile"], input=made.pdf, capture_output=True, check=True
    )
    poppler = Image.open(io.BytesIO(drawn.stdout)).convert("L")
    pdfium = pypdfium2.PdfDocument(made.pdf)[0].render(scale=1).to_pil().convert("L").resize(poppler.size)
    blurred = [image.filter(ImageFilter.GaussianBlur(2)) for image in (poppler, pdfium)]
    assert ImageStat.Stat(poppler).mean[0] < 254.5
    assert max(ImageStat.Stat(ImageChops.difference(*blurred)).extrema[0]) < 60


@pytest.mark.needs("DejaVu Sans")
def test_an_installed_font_draws_what_no_packaged_one_has():
    fonts = Fonts("zh-hans")
    found = "".join(chr(point) for point in range(0x1400, 0x1680) if fonts.draws(chr(point)))
    assert found
    made = rendered(found[:20], page_numbers=False)
    assert len(made.report.fonts) == 1
    assert "".join(made.text().split()) == found[:20]


def test_chinese_japanese_and_korean_come_with_the_package():
    assert "Noto Sans CJK" in rendered("中文 日本語 한국어").report.fonts


@pytest.mark.parametrize("script", ["CJK", "HIRAGANA", "HANGUL"])
def test_what_cures_a_missing_font_is_one_line(script):
    made = status([(script, 1200), ("TAMIL", 3)])
    assert made["status"] == "incomplete"
    assert "(1,200 letters), Tamil (3 letters)" in made["cause"]
    assert made["fix"].endswith("pip install noto-cjk-sans-otc")
    assert status([]) == {"status": "ok"}
