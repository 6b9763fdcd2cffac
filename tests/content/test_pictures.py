"""Odd pictures get the right status and cause, and metadata goes without a pixel changing."""

# ruff: noqa: E501 - contents are easier to read in one piece

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from bursar.content.pictures import inspect
from PIL import Image, ImageSequence, PngImagePlugin, features

SECRET = b"Camera of somebody"
EXIF = Image.Exif()
EXIF[0x010F] = SECRET.decode()
EXIF[0x0112] = 6
EXIF.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)


def drawn(mode: str = "RGB", size: tuple[int, int] = (90, 60)) -> Image.Image:
    ramp = Image.linear_gradient("L").resize(size)
    noise = Image.effect_noise(size, 40)
    return Image.merge("RGB", [ramp, noise, ramp.rotate(180)]).convert(mode)


def saved(form: str, mode: str = "RGB", **options: object) -> bytes:
    file = io.BytesIO()
    drawn(mode).save(file, form, **options)
    return file.getvalue()


def several(form: str, **options: object) -> bytes:
    file = io.BytesIO()
    frames = [drawn().rotate(angle) for angle in (0, 90, 180, 270)]
    frames[0].save(file, form, save_all=True, append_images=frames[1:], **options)
    return file.getvalue()


def chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def with_text(*, broken: bool = False) -> bytes:
    info = PngImagePlugin.PngInfo()
    info.add_text("Author", SECRET.decode())
    info.add_itxt("Title", SECRET.decode(), zip=True)
    content = saved("PNG", pnginfo=info, exif=EXIF)
    return content.replace(SECRET, SECRET[::-1], 1) if broken else content


def flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :]


STRIPPED = {
    "PNG": with_text(),
    "PNG of 16 bits": saved("PNG", "I;16", exif=EXIF),
    "PNG with a palette": saved("PNG", "P", exif=EXIF, transparency=3),
    "PNG that moves": several("PNG", exif=EXIF),
    "JPEG 4:4:4": saved("JPEG", subsampling=0, quality=95, exif=EXIF, comment=SECRET),
    "JPEG 4:2:0": saved("JPEG", exif=EXIF),
    "JPEG, progressive": saved("JPEG", progressive=True, exif=EXIF),
    "JPEG in CMYK": saved("JPEG", "CMYK", exif=EXIF),
    "JPEG, grey": saved("JPEG", "L", exif=EXIF),
    "JPEG with restarts": saved("JPEG", restart_marker_rows=1, exif=EXIF),
    "MPO": several("MPO", exif=EXIF),
    "WebP": saved("WEBP", exif=EXIF, xmp=SECRET),
    "WebP, lossless": saved("WEBP", "RGBA", lossless=True, exif=EXIF),
    "WebP that moves": several("WEBP", exif=EXIF),
    "GIF": saved("GIF", "P", comment=SECRET),
    "GIF that moves": several("GIF", comment=SECRET, loop=0, duration=50),
    "TIFF": saved("TIFF", exif=EXIF),
    "TIFF, LZW": saved("TIFF", compression="tiff_lzw", exif=EXIF, description=SECRET.decode()),
    "TIFF, JPEG": saved("TIFF", compression="jpeg", software=SECRET.decode()),
    "TIFF of floats": saved("TIFF", "F", description=SECRET.decode()),
    "TIFF of pages": several("TIFF", artist=SECRET.decode()),
    "JPEG 2000": saved("JPEG2000") + struct.pack(">I", 8 + len(SECRET)) + b"xml " + SECRET,
    "AVIF": saved("AVIF", exif=EXIF, xmp=b"<x:xmpmeta>" + SECRET),
    "AVIF that moves": several("AVIF", exif=EXIF),
    "BMP": saved("BMP"),
    "QOI": saved("QOI"),
    "PCX": saved("PCX"),
}


def frames(content: bytes) -> list[tuple[str, tuple[int, int], bytes]]:
    with Image.open(io.BytesIO(content)) as image:
        most = 1 if image.format == "MPO" else 99
        return [
            (one.mode, one.size, one.tobytes())
            for one, _ in zip(ImageSequence.Iterator(image), range(most), strict=False)
        ]


@pytest.mark.parametrize("name", STRIPPED)
def test_metadata_goes_and_every_pixel_of_every_frame_stays(tmp_path: Path, name: str) -> None:
    content = STRIPPED[name]
    (tmp_path / "p").write_bytes(content)
    found = inspect(str(tmp_path / "p"), strip_to=str(tmp_path / "q"))
    assert found["stripped"] is True, found
    stripped = (tmp_path / "q").read_bytes()
    assert SECRET not in stripped
    with Image.open(io.BytesIO(content)) as before, Image.open(io.BytesIO(stripped)) as after:
        if before.format == "MPO":
            before.load()
        assert after.getexif().get(0x0112, 1) == before.getexif().get(0x0112, 1)
        assert not after.getexif().get_ifd(0x8825)
        assert getattr(after, "n_frames", 1) == (1 if before.format == "MPO" else getattr(before, "n_frames", 1))
    assert frames(stripped) == frames(content)


def test_a_png_text_that_is_damaged_is_no_damage_and_pixels_that_are_damaged_are(tmp_path: Path) -> None:
    assert judged(tmp_path, with_text(broken=True)) == ("ok", "PNG")
    content = saved("PNG")
    assert judged(tmp_path, flipped(content, content.index(b"IDAT") + 40)) == ("corrupt", "PNG")


def judged(folder: Path, content: bytes) -> tuple[str, str]:
    (folder / "p").write_bytes(content)
    found = inspect(str(folder / "p"))
    return (found["bad"], found["kind"]) if "bad" in found else ("ok", found["format"])


DECODED = {
    "PNG": ("PNG", "1 L LA P RGB RGBA I;16"), "JPEG": ("JPEG", "L RGB CMYK"), "GIF": ("GIF", "L P RGB"),
    "WEBP": ("WEBP", "RGB RGBA L"), "AVIF": ("AVIF", "RGB RGBA"), "BMP": ("BMP", "1 L P RGB RGBA"),
    "TIFF": ("TIFF", "1 L P RGB RGBA CMYK I;16 F I YCbCr LAB"), "ICO": ("ICO", "RGB RGBA"),
    "JPEG2000": ("JPEG2000", "L RGB RGBA"), "PPM": ("PPM", "1 L RGB"), "TGA": ("TGA", "L RGB RGBA P"),
    "PCX": ("PCX", "1 L P RGB"), "DDS": ("DDS", "RGB RGBA L"), "QOI": ("QOI", "RGB RGBA"), "ICNS": ("ICNS", "RGBA"),
}  # fmt: skip
NAMED = {
    "JPEG XL image": [b"\xff\x0a" + bytes(99), b"\0\0\0\x0cJXL \r\n\x87\n" + bytes(99)],
    "JPEG XR image": [b"II\xbc\x01" + bytes(99)],
    "OpenEXR image": [b"v/1\x01\x02\0\0\0" + bytes(99)],
    "Radiance HDR image": [b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n"],
    "GIMP image": [b"gimp xcf v011\0" + bytes(99)],
    "HEIC image": [b"\0\0\0\x18ftypheic\0\0\0\0mif1heic" + bytes(99)],
}
SAYS = {
    "html": (b"<!DOCTYPE html><html><head><title>Sign in &amp; go on</title></head><body>x</body></html>", "Sign in & go on"),
    "json": (b'{"error": {"code": 404, "message": "No such image"}}', "No such image"),
    "xml": (b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>', "AccessDenied: Access Denied"),
    "text": (b"error: quota exceeded\nsecond line", "error: quota exceeded"),
    "Git LFS pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n", "the picture lies elsewhere, oid sha256:4d7a, size 12345"),
}  # fmt: skip
OTHERS = {
    "Matroska or WebM video": b"\x1aE\xdf\xa3" + bytes(99),
    "MP4 video or audio": b"\0\0\0\x20ftypisom\0\0\2\0isomiso2avc1mp41" + bytes(99),
    "PDF document": b"%PDF-1.7\n" + bytes(99),
    "ZIP archive": b"PK\3\4" + bytes(99),
    "gzip": b"\x1f\x8b\x08" + bytes(99),
    "WAV audio": b"RIFF\x24\0\0\0WAVEfmt " + bytes(99),
    "ELF executable": b"\x7fELF" + bytes(99),
    "WOFF2 font": b"wOF2" + bytes(99),
    "SQLite database": b"SQLite format 3\0" + bytes(99),
    "PostScript document": b"%!PS-Adobe-3.0 EPSF-3.0\n",
}


def twelve_bits() -> bytes:
    content = saved("JPEG", "L")
    return flipped(content, content.index(b"\xff\xc0") + 4).replace(b"\xff\xc0\x00\x0b\x5d", b"\xff\xc1\x00\x0b\x0c", 1)


def odd() -> Iterator[tuple[str, bytes, tuple[str, str]]]:
    """Yield a name, a content, and what it is judged as."""
    for form, (name, modes) in DECODED.items():
        for mode in modes.split():
            content = saved(form, mode)
            yield f"{form} {mode}", content, ("ok", name)
            if form in ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP", "TIFF", "JPEG2000", "PPM"):
                for percent in (40, 70, 90):
                    yield f"{percent} % of {form} {mode}", content[: len(content) * percent // 100], ("truncated", name)
    for form in ("PNG", "GIF", "WEBP", "TIFF"):
        yield f"{form} of four", several(form), ("ok", form)
        yield f"{form} of four, cut", several(form)[: len(several(form)) * 8 // 10], ("truncated", form)
    for kind, contents in NAMED.items():
        for number, content in enumerate(contents):
            yield f"{kind} {number}", content, ("unsupported", kind)
    for kind, (content, _) in SAYS.items():
        yield kind, content, ("not_an_image", kind)
    for kind, content in OTHERS.items():
        yield kind, content, ("not_an_image", kind)
    for form in ("PNG", "JPEG", "GIF", "WEBP"):
        head = saved(form)[:16]
        yield f"{form} and noise", head + bytes(range(256)) * 9, ("corrupt" if form != "WEBP" else "truncated", form)
    for place in range(0, 200, 20):
        content = saved("PNG")
        at = content.index(b"IDAT") + 8 + place
        yield f"PNG flipped at {place}", flipped(content, at), ("corrupt", "PNG")
    yield "twelve bits", twelve_bits(), ("unsupported", "JPEG image of 12 bits a colour")
    yield "nothing", b"", ("empty", "empty")
    yield "zeros", bytes(500), ("not_an_image", "binary")


CASES = list(odd())


def test_there_are_many_cases() -> None:
    assert len(CASES) >= 200


@pytest.mark.parametrize(("content", "wanted"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_an_odd_picture_is_judged_for_what_it_is(tmp_path: Path, content: bytes, wanted: tuple[str, str]) -> None:
    if wanted[1] == "AVIF" and not features.check("avif"):
        pytest.skip("Pillow was built without AVIF")
    assert judged(tmp_path, content) == wanted


@pytest.mark.parametrize("kind", SAYS)
def test_what_a_content_says_instead_of_a_picture_is_told(tmp_path: Path, kind: str) -> None:
    content, wanted = SAYS[kind]
    (tmp_path / "p").write_bytes(content)
    assert inspect(str(tmp_path / "p"))["says"] == wanted


def test_what_there_is_of_a_truncated_picture_is_told(tmp_path: Path) -> None:
    content = saved("JPEG")
    (tmp_path / "p").write_bytes(content[: len(content) // 2])
    assert "of 60 rows of a JPEG image of 90 x 60 pixels are there" in inspect(str(tmp_path / "p"))["there"]


@pytest.mark.parametrize(("mode", "most"), [("I;16", 65535), ("I;16", 4095), ("F", 1.0), ("I", 100_000)])
def test_the_thumbnail_of_more_than_eight_bits_has_all_greys(tmp_path: Path, mode: str, most: float) -> None:
    ramp = Image.linear_gradient("L").convert("F").point(lambda value: value * (most / 255) + 0)
    ramp = ramp.convert("I").convert("I;16") if mode == "I;16" else ramp.convert(mode)
    ramp.save(tmp_path / "p.tiff")
    inspect(str(tmp_path / "p.tiff"), thumbnail_to=str(tmp_path / "t"))
    with Image.open(tmp_path / "t") as small:
        low, high = small.convert("L").getextrema()
    assert low < 6
    assert high > 249
