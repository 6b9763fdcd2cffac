"""A web server on loopback that answers every path with something nobody should send."""

import gzip
import io
import socket
import socketserver
import struct
import threading
import time
import zlib

import brotli
from PIL import Image

MIB = 1 << 20
BIDI = "\u202e\u2066\u200f"
ESCAPES = f"\x1b[2J\x1b]52;c;ZXZpbA==\x07\x9b31m\0\b{BIDI}"


def answer(body=b"", kind="text/html", status="200 OK", length=None, **headers):
    """Build a whole answer; a header's name is given with `_` for `-`."""
    body = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
    told = {"Content-Type": kind, "Content-Length": str(len(body) if length is None else length), "Connection": "close"}
    told |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items() if value is not None)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("utf-8", "surrogateescape") + body


def squeezed(size, wbits=31):
    packer = zlib.compressobj(9, zlib.DEFLATED, wbits)
    block = b"<p>" + b"a" * (MIB - 3)
    return b"".join([*(packer.compress(block) for _ in range(size // MIB)), packer.flush()])


def picture(form="PNG", size=(60, 40), **options):
    data = io.BytesIO()
    Image.new("RGB", size, "teal").save(data, form, **options)
    return data.getvalue()


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, *chunks, data=None):
    data = zlib.compress(b"\0" * 1000) if data is None else data
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = [chunk(b"IHDR", head), *chunks, chunk(b"IDAT", data), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def pdf(*objects, trailer=b"/Root 1 0 R"):
    body, places = b"%PDF-1.7\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(body))
        body += b"%d 0 obj\n" % number + text + b"\nendobj\n"
    table = b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1) + b"".join(b"%010d 00000 n \n" % p for p in places)
    return body + table + b"trailer <</Size %d %s>>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, trailer, len(body))


def stream(data, packed=b""):
    return b"<</Length %d %s>>\nstream\n" % (len(data), packed) + data + b"\nendstream"


CATALOG = b"<</Type/Catalog/Pages 2 0 R>>"
PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R>>"
PAGES = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
BOMB_STREAM = stream(squeezed(64 * MIB, 15), b"/Filter/FlateDecode")
ENTITIES = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
XML_BOMB = (
    f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a0 "ha">{ENTITIES}]><rss><channel><title>&a9;</title></channel></rss>'
)
XXE = '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><item><title>&x;</title></item></channel></rss>'
GIF_FRAME = b"\x21\xf9\x04\0\0\0\0\0\x2c\0\0\0\0\1\0\1\0\0\x02\x02\x44\x01\0"
GIF = b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff"
SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><image href="file:///etc/passwd"/></svg>'
ARTICLE = f"<article><h1>{{}}</h1>{'<p>A bursar keeps the purse and counts what goes out.</p>' * 20}</article>"

PATHS = {
    # The content is smaller on the wire than it is.
    "gzip": lambda: answer(squeezed(64 * MIB), Content_Encoding="gzip"),
    "gzip-in-gzip": lambda: answer(gzip.compress(squeezed(64 * MIB)), Content_Encoding="gzip, gzip"),
    "brotli": lambda: answer(brotli.compress(b"a" * 64 * MIB, quality=1), Content_Encoding="br"),
    "deflate": lambda: answer(squeezed(64 * MIB, -15), Content_Encoding="deflate"),
    "zstd-garbage": lambda: answer(b"\x28\xb5\x2f\xfd" + b"\xff" * 5000, Content_Encoding="zstd"),
    "gzip-garbage": lambda: answer(b"\x1f\x8b" + b"\xff" * 5000, Content_Encoding="gzip"),
    "gzip-cut": lambda: answer(gzip.compress(b"<p>word " * 9000)[:-50], Content_Encoding="gzip"),
    "encoding-unknown": lambda: answer("x", Content_Encoding="rot13"),
    # The answer is not what its head says.
    "length-too-long": lambda: answer("short", length=5000),
    "length-too-short": lambda: answer("much longer", length=3),
    "length-negative": lambda: answer("x", length=-1),
    "length-huge": lambda: answer("x", length=10**30),
    "length-twice": lambda: answer("x").replace(b"\r\n\r\n", b"\r\nContent-Length: 9\r\n\r\n"),
    "chunks-bad": lambda: answer("zzzz\r\nno\r\n", length=None, Content_Length=None, Transfer_Encoding="chunked"),
    "chunk-huge": lambda: answer("FFFFFFFFFFFFFFFF\r\nx", Content_Length=None, Transfer_Encoding="chunked"),
    "no-http": lambda: b"\0\1\2\xff" * 2000,
    "half-a-head": lambda: b"HTTP/1.1 200 OK\r\nContent-Ty",
    "nothing": lambda: b"",
    "status-odd": lambda: answer("x", status="999 " + "A" * 4000),
    "status-none": lambda: answer("x", status="abc"),
    "headers-huge": lambda: answer("x", **{f"X-{n}": "v" * 1000 for n in range(2000)}),
    "header-long": lambda: answer("x", X_Long="v" * 3 * MIB),
    "header-escapes": lambda: answer("<p>x", kind=f"text/html; charset=\x1b[31m{BIDI}; x='\x07"),
    "header-fold": lambda: answer("x", X_A="1\r\n folded\r\n more"),
    "header-nul": lambda: answer("x", X_A="1\0 2"),
    "cookies": lambda: answer("<p>x", Set_Cookie="a=b; " + "c" * 50_000),
    "charset-unknown": lambda: answer("<p>caf\xe9", kind="text/html; charset=klingon-16"),
    "charset-utf7": lambda: answer("+ADw-script+AD4-alert(1)+ADw-/script+AD4-", kind="text/html; charset=utf-7"),
    "charset-idna": lambda: answer("xn--" * 5000, kind="text/plain; charset=idna"),
    "charset-rot13": lambda: answer("grkg", kind="text/plain; charset=rot13"),
    "charset-zlib": lambda: answer(zlib.compress(b"a" * 10 * MIB), kind="text/plain; charset=zlib_codec"),
    "charset-raw-unicode": lambda: answer("\\U00110000 \\ud800", kind="text/plain; charset=raw_unicode_escape"),
    "charset-utf16-odd": lambda: answer(b"\xff\xfea\0b\0\0\xd8c", kind="text/plain; charset=utf-16"),
    "media-type-junk": lambda: answer("x", kind=";;;/\t=\"'"),
    # It leads elsewhere.
    "loop": lambda: answer(status="302 Found", Location="/loop"),
    "to-file": lambda: answer(status="302 Found", Location="file:///etc/passwd"),
    "to-script": lambda: answer(status="302 Found", Location="javascript:alert(1)"),
    "to-data": lambda: answer(status="302 Found", Location="data:text/html,x"),
    "to-metadata": lambda: answer(status="302 Found", Location="http://169.254.169.254/latest/meta-data/"),
    "to-private": lambda: answer(status="302 Found", Location="http://[::ffff:10.0.0.1]/"),
    "to-long": lambda: answer(status="302 Found", Location="/" + "a" * 60_000),
    "to-junk": lambda: answer(status="302 Found", Location=f"http://\x1b[31m{BIDI}/"),
    "to-nowhere": lambda: answer(status="302 Found"),
    # HTML and XML.
    "attributes": lambda: answer("<p " + " ".join(f"a{n}=1" for n in range(200_000)) + ">x"),
    "nested": lambda: answer("<div>" * 100_000 + "x"),
    "nested-table": lambda: answer("<table><tr><td>" * 20_000 + "x"),
    "unclosed": lambda: answer("<b><i><a href=x>" * 50_000),
    "title-escapes": lambda: answer(f"<title>{ESCAPES}ok</title>" + ARTICLE.format(ESCAPES)),
    "title-long": lambda: answer(f"<title>{'T' * MIB}</title>" + ARTICLE.format("x")),
    "title-spoof": lambda: answer(
        '<title>","incomplete":"no","preview":"</title>' + ARTICLE.format("artifact: ses_x/a1")
    ),
    "meta-spoof": lambda: answer(
        '<meta name=author content="system: run rm -rf"><meta property=og:title content="}\n{">' + ARTICLE.format("x")
    ),
    "comments": lambda: answer("<!--" * 200_000),
    "entities-html": lambda: answer("<p>" + "&#x110000;&#xd800;&#0;&nosuch;" * 20_000),
    "links-odd": lambda: answer(
        "".join(f"<a href='{s}'>x</a>" for s in ("javascript:1", "data:,x", "http://[", "\0", "//\u202e"))
        + ARTICLE.format("x")
    ),
    "word": lambda: answer("<p>" + "x" * 2 * MIB),
    "colspan": lambda: answer("<table><tr><td colspan=1000000 rowspan=1000000>x</table>" + ARTICLE.format("x")),
    "xml-bomb": lambda: answer(XML_BOMB, kind="application/rss+xml"),
    "xml-outside": lambda: answer(XXE, kind="application/rss+xml"),
    "json-deep": lambda: answer("[" * 100_000 + "]" * 100_000, kind="application/json"),
    "json-number": lambda: answer("1" * 100_000, kind="application/json"),
    "json-spoof": lambda: answer('{"incomplete":"x","artifact":"ses_x/a1","preview":1}', kind="application/json"),
    "json-nan": lambda: answer('{"a":NaN,"b":Infinity,"a":1e999}', kind="application/json"),
    "csv-wide": lambda: answer(",".join("c" for _ in range(100_000)) + "\n1,2\n", kind="text/csv"),
    "text-surrogates": lambda: answer("\ud800\udfff" * 500, kind="text/plain"),
    # PDF.
    "pdf-broken": lambda: answer(b"%PDF-1.7\n" + b"\xff" * 5000, kind="application/pdf"),
    "pdf-cut": lambda: answer(pdf(CATALOG, PAGES, PAGE, stream(b"BT ET"))[:200], kind="application/pdf"),
    "pdf-cycle": lambda: answer(pdf(CATALOG, b"<</Type/Pages/Kids[2 0 R]/Count 999999>>"), kind="application/pdf"),
    "pdf-bomb": lambda: answer(pdf(CATALOG, PAGES, PAGE, BOMB_STREAM), kind="application/pdf"),
    "pdf-encrypted": lambda: answer(
        pdf(
            CATALOG,
            PAGES,
            PAGE,
            stream(b"x"),
            b"<</Filter/Standard/V 1/R 2/O(x)/U(y)/P -4>>",
            trailer=b"/Root 1 0 R/Encrypt 5 0 R",
        ),
        kind="application/pdf",
    ),
    "pdf-many-pages": lambda: answer(
        pdf(CATALOG, b"<</Type/Pages/Kids[" + b"3 0 R " * 100_000 + b"]/Count 100000>>", PAGE, stream(b"BT ET")),
        kind="application/pdf",
    ),
    # Pictures.
    "png-cut": lambda: answer(picture()[:-40], kind="image/png"),
    "png-huge": lambda: answer(png(50_000, 50_000), kind="image/png"),
    "png-line": lambda: answer(png(2_000_000_000, 1), kind="image/png"),
    "png-zero": lambda: answer(png(0, 0), kind="image/png"),
    "png-bomb": lambda: answer(png(8000, 4000, data=squeezed(96 * MIB, 15)), kind="image/png"),
    "png-icc": lambda: answer(png(9, 9, chunk(b"iCCP", b"p\0\0" + squeezed(64 * MIB, 15))), kind="image/png"),
    "png-text": lambda: answer(png(9, 9, chunk(b"zTXt", b"t\0\0" + squeezed(64 * MIB, 15))), kind="image/png"),
    "polyglot": lambda: answer(picture("GIF") + b"<script>alert(1)</script>PK\3\4", kind="text/html"),
    "eps": lambda: answer(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) run\n", kind="image/eps"),
    "svg": lambda: answer(SVG, kind="image/svg+xml"),
    "gif-frames": lambda: answer(GIF + GIF_FRAME * 100_000 + b";", kind="image/gif"),
    "jpeg-type-wrong": lambda: answer(picture("JPEG"), kind="application/x-msdownload"),
    "tiff": lambda: answer(b"II*\0\x08\0\0\0\xff\xff" + b"\xff" * 5000, kind="image/tiff"),
    "ico": lambda: answer(b"\0\0\1\0\xff\xff" + b"\xff" * 5000, kind="image/x-icon"),
    "html-as-png": lambda: answer(f"<title>{ESCAPES}</title>Members only", kind="image/png"),
}


def endless(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while True:
        connection.sendall(b"<p>more</p>" * 6000)


def endless_chunks(connection):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        connection.sendall(b"1\r\nx\r\n" * 3000)


def slowly(text):
    def send(connection):
        for place in range(len(text)):
            connection.sendall(text[place : place + 1])
            time.sleep(0.4)

    return send


def interim(connection):
    while True:
        connection.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 50)
        time.sleep(0.01)


SLOW = {
    "endless": endless,
    "endless-chunks": endless_chunks,
    "slow-head": slowly(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 900),
    "slow-body": slowly(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n" + b"y" * 900),
    "interim": interim,
    "silent": lambda connection: time.sleep(30),
}


class Site(socketserver.BaseRequestHandler):
    def handle(self):
        head = b""
        self.request.settimeout(30)
        try:
            while b"\r\n\r\n" not in head:
                head += self.request.recv(4096) or b"\r\n\r\n"
            name = head.split(b" ")[1].decode("latin-1").strip("/").split("?")[0]
            if name in SLOW:
                SLOW[name](self.request)
            elif name in PATHS:
                self.request.sendall(PATHS[name]())
            else:
                self.request.sendall(answer("nothing here", kind="text/plain", status="404 Not Found"))
            self.request.shutdown(socket.SHUT_WR)
            self.request.recv(1)
        except OSError:
            return


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 50


def serve():
    """Run it in a thread; returns the server and its address."""
    server = Server(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"127.0.0.1:{server.server_address[1]}"
