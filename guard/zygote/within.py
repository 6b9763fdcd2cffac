"""Tells whether paths lie in one another."""


def is_within(path: str, directory: str) -> bool:
    """Tell whether a path is a directory or lies in it; both without links."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")
