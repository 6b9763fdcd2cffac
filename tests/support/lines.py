"""The lines of an artifact, counted."""


def count_lines(artifact, progress=None):
    """Return the number of an artifact's lines, counted if nobody did; what was found out is kept."""
    if artifact.lines is not None:
        return artifact.lines
    index = artifact.index()
    with artifact.opened() as content:
        total = index.lines(content, progress)
    artifact.keep_index(index)
    return total
