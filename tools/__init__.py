"""The tools, one a file; each knows its arguments, its work and its facts."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .base import Tool


def tools(copy_bytes: int) -> "list[Tool[Any]]":
    """Return every tool, in the order in which clients list them.

    Args:
        copy_bytes: size of the largest local file that is copied. To a larger one the artifact refers, as long as it
            does not change.
    """
    # Imported here, so that a worker process that needs one module of this room does not load them all.
    from .directory_tree import DirectoryTree
    from .download_image import DownloadImage
    from .edit_file import EditFile
    from .read_artifact import ReadArtifact
    from .read_file import ReadFile
    from .running import Looks
    from .terminal import Terminal
    from .web_fetch import WebFetch
    from .write_pdf import WritePdf

    looks = Looks()
    return [
        WebFetch(),
        ReadFile(copy_bytes),
        Terminal(looks),
        DirectoryTree(),
        DownloadImage(),
        WritePdf(),
        EditFile(),
        ReadArtifact(looks),
    ]
