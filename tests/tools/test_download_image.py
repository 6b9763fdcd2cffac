"""A download says whether an image came, where it lies, and if not, why; only images are left under an image's name."""

# ruff: noqa: ASYNC240

import asyncio
import io
import random
import struct
import zlib
from pathlib import Path
from types import SimpleNamespace

import anyio
import pytest
from bursar.artifacts import Limits as StoreLimits
from bursar.artifacts import Store
from bursar.budget import tokens
from bursar.budget.ceilings import PICTURE_BYTES, Ceiling
from bursar.budget.reply import fit
from bursar.content.picture_kinds import sniff
from bursar.guard.net import Limits
from bursar.guard.workers import Workers
from bursar.server.render import Naming, draft_of
from bursar.tools.base import Done
from bursar.tools.download_image import DownloadImage, DownloadImageArgs
from harness import call_of
from hypothesis import given
from hypothesis import strategies as st
from loopback import Asked, net_for, page, redirect, site, then_close, without_end
from PIL import Image, PngImagePlugin

pytestmark = pytest.mark.anyio

IMAGE_SUFFIXES = {".png", ".jpg", ".gif", ".webp", ".avif", ".bmp", ".tiff", ".ico", ".jp2", ".heic", ".svg", ".dds"}


@pytest.fixture
def session(tmp_path):
    return Store(tmp_path / "state", StoreLimits()).create("local:0")


def picture(mode="RGB", size=(64, 48)) -> Image.Image:
    drawn = Image.linear_gradient("L").resize(size)
    return Image.merge("RGB", [drawn, drawn.rotate(90), drawn.rotate(180)]).convert(mode)


def encoded(form: str, mode="RGB", size=(64, 48), **options) -> bytes:
    file = io.BytesIO()
    picture(mode, size).save(file, form, **options)
    return file.getvalue()


def half(form: str) -> bytes:
    file = io.BytesIO()
    Image.effect_noise((200, 200), 60).convert("RGB").save(file, form)
    return file.getvalue()[: len(file.getvalue()) // 2]


def animation(form: str) -> bytes:
    file = io.BytesIO()
    frames = [picture().rotate(angle) for angle in (0, 90, 180)]
    frames[0].save(file, form, save_all=True, append_images=frames[1:], duration=40)
    return file.getvalue()


def huge_png(side: int) -> bytes:
    """A small file that says it is side x side pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes(side // 8 + 1) * min(side, 2_000), 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def text_bomb_png() -> bytes:
    """A picture with a compressed text of 100 MB in it."""
    file = io.BytesIO()
    about = PngImagePlugin.PngInfo()
    about.add(b"zTXt", b"x\0\0" + zlib.compress(bytes(100_000_000), 1))
    picture().save(file, "PNG", pnginfo=about)
    return file.getvalue()


def photo(orientation=6) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "Camera maker"
    exif.get_ifd(0x8825)[2] = (52.0, 31.0, 12.0)
    return encoded("JPEG", exif=exif, comment=b"private")


HTML = b"<!DOCTYPE html><html><body>Please log in</body></html>"
SVG = b'<?xml version="1.0"?><!-- a --><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 120 80"><script/></svg>'
S3_ERROR = b'<?xml version="1.0"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'
HEIC = b"\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic" + bytes(2000)


async def download(session, workers, there, path="/picture.png", **options):
    net = net_for(there, limits=options.pop("limits", Limits(connect_s=1, between_s=2, total_s=5)))
    given = {name: options.pop(name) for name in ("patience_s", "shows_pictures") if name in options}
    arguments = DownloadImageArgs(url=there.url(path), **options)
    tool = DownloadImage()
    done = await tool.run(arguments, call_of(tool, arguments, session, net=net, workers=workers, **given))
    told = SimpleNamespace(**done.facts, all=dict(done.facts), done=done)
    check(told, session)
    return told


def check(told, session) -> None:
    """What holds of every result, good or bad."""
    assert Path(told.target_path).is_absolute()
    assert told.download_dir == str(session.directory)
    left = [file for file in session.directory.iterdir() if file.name.startswith("a") and file.suffix in IMAGE_SUFFIXES]
    if told.status == "ok":
        assert Path(told.target_path).is_file()
        assert Path(told.target_path) in left
    else:
        assert told.status == "failed"
        assert told.cause
        assert told.error
        assert told.fix
        assert not Path(told.target_path).exists()
        assert left == []
    assert not [file.name for file in session.directory.iterdir() if file.name.startswith(".new-")]
    reply = fit(draft_of(Done(told.all), Naming(session.handle)), Ceiling()).text
    # A real data directory has a shorter path than a test's temporary one.
    reply = reply.replace(str(session.directory), "/home/user/.local/share/bursar/abcdefghijkl")
    assert tokens.count(reply) <= 170, (tokens.count(reply), reply)


FORMATS = {
    "PNG": (encoded("PNG"), "image/png", "png"),
    "PNG with alpha": (encoded("PNG", "RGBA"), "image/png", "png"),
    "PNG of 16 bits": (encoded("PNG", "I;16"), "image/png", "png"),
    "JPEG": (encoded("JPEG"), "image/jpeg", "jpg"),
    "JPEG in CMYK": (encoded("JPEG", "CMYK"), "image/jpeg", "jpg"),
    "GIF": (encoded("GIF", "P"), "image/gif", "gif"),
    "WEBP": (encoded("WEBP"), "image/webp", "webp"),
    "AVIF": (encoded("AVIF"), "image/avif", "avif"),
    "BMP": (encoded("BMP"), "image/bmp", "bmp"),
    "TIFF": (encoded("TIFF"), "image/tiff", "tiff"),
    "JPEG2000": (encoded("JPEG2000"), "image/jp2", "jp2"),
}


@pytest.mark.parametrize("name", FORMATS)
async def test_every_format_is_kept_byte_for_byte_with_its_facts(session, workers, name):
    content, kind, suffix = FORMATS[name]
    async with site(
        {"/holiday photo.x": page(content, Content_Type=kind), "/holiday%20photo.x": page(content, Content_Type=kind)}
    ) as there:
        told = await download(session, workers, there, "/holiday photo.x")
    assert told.status == "ok"
    assert Path(told.target_path).read_bytes() == content
    assert told.target_path.endswith(f"-holiday-photo.{suffix}")
    assert (told.format, told.width, told.height) == (name.partition(" ")[0], 64, 48)
    assert (told.bytes, told.blank, told.animated) == (len(content), False, False)
    assert told.artifact.sha256.startswith(told.sha256)
    assert "declared" not in told.all


@pytest.mark.parametrize("form", ["GIF", "WEBP", "PNG"])
async def test_an_animation_says_so(session, workers, form):
    async with site({"/picture.png": page(animation(form))}) as there:
        told = await download(session, workers, there)
    assert (told.status, told.animated, told.frames) == ("ok", True, 3)


async def test_an_svg_is_kept_as_text_and_never_rendered(session, workers):
    async with site({"/logo": page(SVG, Content_Type="image/svg+xml")}) as there:
        told = await download(session, workers, there, "/logo", thumbnail=True)
    assert (told.status, told.format, told.width, told.height) == ("ok", "SVG", 120, 80)
    assert "never rendered" in told.note
    assert told.done.picture is None


BAD = {
    "HTML named .png": (page(HTML, Content_Type="image/png"), "not_an_image", "a web page"),
    "JSON": (page(b'{"error": "no"}'), "not_an_image", "JSON"),
    "text": (page(b"not found, sorry"), "not_an_image", "plain text"),
    "PDF": (page(b"%PDF-1.7\n" + bytes(99)), "not_an_image", "PDF document"),
    "PostScript": (page(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"), "not_an_image", "PostScript document"),
    "nothing": (page(b"", Content_Type="image/png"), "empty", "no content"),
    "half a PNG": (page(half("PNG")), "truncated", "cut short"),
    "half a JPEG": (page(half("JPEG")), "truncated", "cut short"),
    "half a WebP": (page(half("WEBP")), "truncated", "cut short"),
    "a header only": (page(b"\x89PNG\r\n\x1a\n"), "corrupt", "damaged"),
    "noise behind a header": (page(b"GIF89a" + bytes(range(256)) * 9), "corrupt", "damaged"),
    "196 megapixels": (page(huge_png(14_000)), "too_many_pixels", "too many pixels"),
    "3.6 gigapixels": (page(huge_png(60_000)), "too_many_pixels", "too many pixels"),
    "HEIC": (page(HEIC, Content_Type="image/heic"), "unsupported", "HEIC"),
    "403": (page(HTML, 403), "http_403", "403 Forbidden"),
    "403 with a picture": (page(encoded("PNG"), 403), "http_403", "403 Forbidden"),
    "404": (page(b"", 404), "http_404", "404 Not Found"),
    "302 to nowhere": (page(HTML, 302), "no_location", "302, and names no address"),
    "S3": (page(S3_ERROR, 403, Content_Type="application/xml"), "http_403", "403 Forbidden"),
    "JPEG XL": (page(b"\xff\x0a" + bytes(99)), "unsupported", "JPEG XL image"),
    "hung up": (then_close(page(encoded("PNG"), length=99_999)), "cut_short", "before it was complete"),
    "slow": (without_end(b"HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\n", b"x", 0.1), "too_slow", "not done after"),
    "endless": (without_end(b"HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\n", b"x" * 65536), "too_large", "larger than"),
    "to an inner address": (redirect("http://10.0.0.1/x.png"), "address_refused", "private"),
}
CAPTURED = {"HTML named .png": HTML, "403": HTML, "JSON": b'{"error": "no"}', "403 with a picture": encoded("PNG")}


@pytest.mark.parametrize("name", BAD)
async def test_what_is_no_good_image_is_explained_and_not_left_as_one(session, workers, name):
    answer, code, words = BAD[name]
    limits = Limits(connect_s=1, between_s=1, total_s=1, wire_bytes=1 << 20)
    async with site({"/picture.png": answer}) as there:
        told = await download(session, workers, there, limits=limits)
    assert (told.status, told.code) == ("failed", code), told.all
    assert words in told.cause
    if name.startswith("40"):
        assert told.http_status == int(name[:3])
    if name == "HEIC":
        assert "bursar[heic]" in told.fix
    if name == "S3":
        assert told.says == "AccessDenied: Access Denied"
    if name in CAPTURED:
        assert told.artifact.read(0, 99_999) == CAPTURED[name]


async def test_when_the_patience_of_the_client_ends_a_download_the_advice_is_to_wait_longer(session, workers):
    async with site({"/picture.png": BAD["slow"][0]}) as there:
        told = await download(session, workers, there, patience_s=1.5)
    assert (told.status, told.code) == ("failed", "too_slow")
    assert "--patience-s above 1.5" in told.fix


async def test_a_redirect_is_followed(session, workers):
    async with site({"/picture.png": redirect("/real.png"), "/real.png": page(encoded("PNG"))}) as there:
        told = await download(session, workers, there)
    assert told.status == "ok"
    assert told.target_path.endswith("-real.png")


async def test_a_wrong_content_type_is_told_and_the_content_decides(session, workers):
    async with site({"/picture.png": page(encoded("JPEG"), Content_Type="text/html")}) as there:
        told = await download(session, workers, there)
    assert (told.status, told.format, told.declared) == ("ok", "JPEG", "text/html")
    assert told.target_path.endswith(".jpg")


@pytest.mark.parametrize(
    ("image", "blank"), [(Image.new("RGB", (9, 9), "red"), True), (Image.new("RGBA", (9, 9)), True), (picture(), False)]
)
async def test_a_blank_image_is_told(session, workers, image, blank):
    image.save(file := io.BytesIO(), "PNG")
    async with site({"/picture.png": page(file.getvalue())}) as there:
        told = await download(session, workers, there)
    assert (told.status, told.blank) == ("ok", blank)


async def test_metadata_is_told_and_can_be_removed(session, workers):
    async with site({"/photo.jpg": page(photo(orientation=6), Content_Type="image/jpeg")}) as there:
        kept = await download(session, workers, there, "/photo.jpg")
        told = await download(session, workers, there, "/photo.jpg", strip=True)
    assert kept.orientation == 6
    assert b"Camera maker" in Path(kept.target_path).read_bytes()
    assert told.stripped is True
    content = Path(told.target_path).read_bytes()
    assert b"Camera maker" not in content
    assert b"private" not in content
    with Image.open(told.target_path) as image:
        # It lies on its side, and that is all it still says.
        assert dict(image.getexif()) == {0x0112: 6}


@pytest.mark.parametrize("form", ["PNG", "WEBP", "AVIF", "TIFF"])
async def test_metadata_of_other_formats_can_be_removed(session, workers, form):
    exif = Image.Exif()
    exif[0x010F] = "Camera maker"
    options = {"exif": exif} if form != "PNG" else {"exif": exif, "pnginfo": PngImagePlugin.PngInfo()}
    if form == "PNG":
        options["pnginfo"].add_text("Author", "Camera maker")
    content = encoded(form, **options)
    assert b"Camera maker" in content
    async with site({"/p": page(content)}) as there:
        told = await download(session, workers, there, "/p", strip=True)
    assert told.stripped is True
    assert b"Camera maker" not in Path(told.target_path).read_bytes()


async def test_what_cannot_be_stripped_says_why(session, workers):
    file = io.BytesIO()
    picture().save(file, "DDS")
    async with site({"/picture.dds": page(file.getvalue()), "/logo": page(SVG)}) as there:
        told = await download(session, workers, there, "/picture.dds", strip=True)
        drawing = await download(session, workers, there, "/logo", strip=True)
    assert (told.status, told.stripped) == ("ok", False)
    assert "metadata is still in it: metadata of DDS files cannot be cut out" in told.note
    assert (drawing.status, drawing.stripped) == ("ok", False)


async def test_a_packed_text_of_100_mb_is_told_and_harms_nothing(session, workers):
    async with site({"/picture.png": page(text_bomb_png())}) as there:
        kept = await download(session, workers, there)
        stripped = await download(session, workers, there, strip=True)
    assert (kept.status, stripped.status) == ("ok", "ok")
    assert "longer than 1,000,000 bytes" in kept.note
    assert stripped.bytes < 5_000


@pytest.mark.parametrize(("mode", "kind"), [("RGB", "image/jpeg"), ("RGBA", "image/png"), ("L", "image/jpeg")])
async def test_a_thumbnail_is_small_and_comes_only_when_asked_for(session, workers, mode, kind):
    image = picture(mode, (1600, 900))
    if mode == "RGBA":
        image.paste("teal", (0, 0, *image.size))
        image.putalpha(Image.linear_gradient("L").resize(image.size))
    image.save(file := io.BytesIO(), "PNG")
    async with site({"/picture.png": page(file.getvalue())}) as there:
        without = await download(session, workers, there)
        told = await download(session, workers, there, thumbnail=True)
    assert without.done.picture is None
    assert told.done.picture.media_type == kind
    with Image.open(io.BytesIO(told.done.picture.data)) as small:
        assert small.size == (320, 180)
        assert (small.mode == "RGBA") == (mode == "RGBA")


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L"])
async def test_a_thumbnail_is_as_small_as_a_reply_whatever_the_picture_shows(session, workers, mode):
    noise = Image.frombytes(mode, (640, 640), random.Random(1).randbytes(640 * 640 * len(mode)))
    noise.save(file := io.BytesIO(), "PNG")
    async with site({"/picture.png": page(file.getvalue())}) as there:
        told = await download(session, workers, there, thumbnail=True)
    data = told.done.picture.data
    assert len(data) <= PICTURE_BYTES
    with Image.open(io.BytesIO(data)) as small:
        assert max(small.size) >= 128


async def test_a_client_that_prints_pictures_is_told_why_it_gets_none(session, workers):
    async with site({"/picture.png": page(encoded("PNG"))}) as there:
        first = await download(session, workers, there, thumbnail=True, shows_pictures=False)
        again = await download(session, workers, there, thumbnail=True, shows_pictures=False)
        unasked = await download(session, workers, there, shows_pictures=False)
    for told in (first, again):
        assert told.done.picture is None
        assert "--thumbnails on" in told.thumbnail
        assert Path(told.target_path).is_file()
    assert "thumbnail" not in unasked.all


async def test_an_image_is_fetched_once(session, workers):
    async with site({"/picture.png": page(encoded("PNG"), Content_Type="image/png")}) as there:
        first = await download(session, workers, there)
        again = await download(session, workers, there)
        await download(session, workers, there, strip=True)
    assert again.all == first.all
    assert len(there.asked) == 2


async def test_what_was_fetched_is_known_after_a_restart(tmp_path, workers):
    store = Store(tmp_path / "state", StoreLimits())
    session = store.create("local:0")
    async with site({"/picture.png": page(encoded("PNG"))}) as there:
        first = await download(session, workers, there)
        handle = session.handle
        later = Store(tmp_path / "state", StoreLimits()).attach(handle, "local:0")
        again = await download(later, workers, there)
    assert again.artifact.ref == first.artifact.ref
    assert len(there.asked) == 1


async def test_a_cancelled_download_leaves_nothing(session, workers):
    async def wait(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n\x89PNG")
        await writer.drain()
        await asyncio.sleep(30)

    async with site({"/picture.png": wait}) as there:
        with anyio.move_on_after(0.3) as scope:
            await download(session, workers, there, limits=Limits())
    assert scope.cancelled_caught
    assert not [file.name for file in session.directory.iterdir() if file.name[0] in "a."]


class Hurried(Workers):
    """Gives nothing any time."""

    async def call(self, function, args, **given):
        return await super().call(function, args, **{**given, "deadline_s": 0.0001})


async def test_a_picture_that_takes_too_long_is_refused(session):
    async with Hurried(1) as hurried, site({"/picture.png": page(encoded("PNG", size=(4000, 4000)))}) as there:
        told = await download(session, hurried, there)
    assert (told.status, told.code) == ("failed", "too_slow")


@given(st.binary(max_size=200))
def test_any_beginning_is_some_kind(head):
    assert sniff(head)


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (SVG, "SVG"),
        (b"\xef\xbb\xbf <svg>", "SVG"),
        (b'<!DOCTYPE svg PUBLIC "a" "b" [<!ENTITY x "y">]><svg>', "SVG"),
        (b"<svg:svg xmlns:svg='x'>", "SVG"),
        (b"<html><svg>", "html"),
        (b"<!-- <svg> --><html>", "html"),
        (b"<!--", "html"),
        ("日本語".encode(), "text"),
        (b"\xff\xfe\x00\x01", "binary"),
        (b"", "empty"),
        (b"\x00\x00\x00\x20ftypavif", "AVIF"),
        (b"\x00\x00\x00\x20ftypisom", "MP4 video or audio"),
        (b"\xff\x0a\xfa\x7f", "JPEG XL image"),
        (b"PK\x03\x04", "ZIP archive"),
    ],
)
def test_kinds_are_guessed_from_the_beginning(head, kind):
    assert sniff(head) == kind


async def test_a_picture_that_is_stored_is_shown_without_fetching_it_again(session, workers):
    async with site({"/picture.png": page(encoded("PNG"))}) as there:
        first = await download(session, workers, there)
        again = await download(session, workers, there, thumbnail=True)
    assert there.paths() == ["/picture.png"]
    assert again.artifact == first.artifact
    assert again.done.picture is not None
    assert len(session.artifacts()) == 1
