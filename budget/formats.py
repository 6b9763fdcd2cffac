"""The formats of binary contents, told by their first bytes."""

_STARTS: tuple[tuple[bytes, str], ...] = (
    (b"\x7fELF", "ELF executable"),
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xff\xd8\xff", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"II*\x00", "TIFF image"),
    (b"MM\x00*", "TIFF image"),
    (b"8BPS", "Photoshop image"),
    (b"\x00\x00\x01\x00", "ICO image"),
    (b"\x00\x00\x02\x00", "CUR image"),
    (b"\xff\x0a", "JPEG XL image"),
    (b"\x00\x00\x00\x0cJXL ", "JPEG XL image"),
    (b"\x00\x00\x00\x0cjP  ", "JPEG 2000 image"),
    (b"\xff\x4f\xff\x51", "JPEG 2000 image"),
    (b"II\xbc\x01", "JPEG XR image"),
    (b"v/1\x01", "OpenEXR image"),
    (b"#?RADIANCE", "Radiance HDR image"),
    (b"qoif", "QOI image"),
    (b"icns", "ICNS image"),
    (b"DDS |\x00\x00\x00", "DDS image"),
    (b"\n\x05\x01\x08", "PCX image"),
    (b"\n\x05\x01\x01", "PCX image"),
    (b"gimp xcf ", "GIMP image"),
    (b"AT&TFORM", "DjVu document"),
    (b"%PDF-", "PDF document"),
    (b"%!PS", "PostScript document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"PK\x05\x06", "ZIP archive"),
    (b"\x1f\x8b", "gzip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\x04\x22\x4d\x18", "lz4"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip archive"),
    (b"Rar!\x1a\x07", "RAR archive"),
    (b"!<arch>\n", "ar archive"),
    (b"SQLite format 3\x00", "SQLite database"),
    (b"PAR1", "Parquet table"),
    (b"ARROW1", "Arrow table"),
    (b"Obj\x01", "Avro table"),
    (b"\x89HDF\r\n\x1a\n", "HDF5 data"),
    (b"\x93NUMPY", "NumPy array"),
    (b"GGUF", "GGUF model"),
    (b"\x00asm", "WebAssembly module"),
    (b"\xca\xfe\xba\xbe", "Java class or universal Mach-O"),
    (b"\xcf\xfa\xed\xfe", "Mach-O executable"),
    (b"\xce\xfa\xed\xfe", "Mach-O executable"),
    (b"dex\n", "Dalvik executable"),
    (b"OggS", "Ogg audio or video"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"\xff\xfb", "MP3 audio"),
    (b"\x1aE\xdf\xa3", "Matroska or WebM video"),
    (b"FLV\x01", "Flash video"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old Office document"),
    (b"wOFF", "WOFF font"),
    (b"wOF2", "WOFF2 font"),
    (b"OTTO", "OpenType font"),
    (b"\x00\x01\x00\x00\x00", "TrueType font"),
    (b"ttcf", "font collection"),
    (b"\xd4\xc3\xb2\xa1", "network capture"),
    (b"\x0a\x0d\x0d\x0a", "network capture"),
    (b"\xed\xab\xee\xdb", "RPM package"),
)

_INSIDE: tuple[tuple[int, bytes, str], ...] = (
    (257, b"ustar", "tar archive"),
    (8, b"DUCK", "DuckDB database"),
    (32769, b"CD001", "ISO 9660 disk"),
    (2, b"\r\r\n", "Python bytecode"),
)

_RIFF = {b"WEBP": "WebP image", b"WAVE": "WAV audio", b"AVI ": "AVI video"}
_BRANDS: tuple[tuple[frozenset[bytes], str], ...] = (
    (frozenset({b"avif", b"avis"}), "AVIF image"),
    (frozenset({b"heic", b"heix", b"hevc", b"hevx", b"heim", b"heis", b"mif1", b"msf1"}), "HEIC image"),
    (frozenset({b"qt  "}), "QuickTime video"),
)
"""What the box `ftyp` of ISO media files names, the first that is among its brands (ISO/IEC 23008-12, registered brands
at mp4ra.org)."""

_BRANDS_WITHIN = 64
_ZIP_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"word/", "Word document (docx)"),
    (b"xl/", "Excel workbook (xlsx)"),
    (b"ppt/", "PowerPoint presentation (pptx)"),
    (b"mimetypeapplication/epub", "EPUB book"),
    (b"mimetypeapplication/vnd.oasis.opendocument", "OpenDocument"),
    (b"AndroidManifest.xml", "Android package (apk)"),
    (b"META-INF/MANIFEST.MF", "Java archive (jar)"),
    (b".dist-info/", "Python wheel"),
)


def recognise(head: bytes, tail: bytes = b"") -> str:
    """Name what begins with `head`, and in the case of a ZIP ends with `tail`; empty when nothing tells."""
    if head[:4] == b"RIFF" and head[8:12] in _RIFF:
        return _RIFF[head[8:12]]
    if head[4:8] == b"ftyp":
        return _by_brand(head[8 : min(_BRANDS_WITHIN, int.from_bytes(head[:4], "big"))])
    if head[:2] == b"BM" and head[6:10] == b"\x00\x00\x00\x00":
        return "BMP image"
    if head[:2] == b"MZ" and b"\x00" in head[:64]:
        return "Windows executable"
    for start, name in _STARTS:
        if head.startswith(start):
            return _zip(head, tail) if name == "ZIP archive" else name
    for offset, mark, name in _INSIDE:
        if head[offset : offset + len(mark)] == mark:
            return name
    return ""


def is_image(name: str) -> bool:
    """Tell whether what `recognise` named is a picture, whether or not anything here can decode it."""
    return name.endswith(" image")


def _by_brand(listed: bytes) -> str:
    brands = {listed[at : at + 4] for at in range(0, len(listed), 4)}
    return next((name for marks, name in _BRANDS if marks & brands), "MP4 video or audio")


def _zip(head: bytes, tail: bytes) -> str:
    for mark, name in _ZIP_MARKS:
        if mark in head or mark in tail:
            return name
    return "ZIP archive"
