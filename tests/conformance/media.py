"""The smallest image, the smallest sound and an embedded resource."""

import base64
import io

from mcp_types import EmbeddedResource, TextResourceContents
from PIL import Image

WAV = b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x80\x3e\0\0\x02\0\x10\0data\x02\0\0\0\0\0"


def _png() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (1, 1), "red").save(written, "PNG")
    return written.getvalue()


PNG = _png()


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


def embedded(uri: str, media_type: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=media_type, text=text)
    return EmbeddedResource(type="resource", resource=contents)
