"""What a server answered with, as tests look at it."""

from pathlib import PurePath

from bursar.budget.reply import Reply


def reply_of(text):
    """Return a reply as an object; its preview too, which is empty where nothing stands behind the line of JSON."""
    value = dict(Reply.parse(text).value)
    if "parts" not in value:
        value.setdefault("preview", "")
    return value


def path_of(reply):
    """Return where the artifact of a reply lies, if that is told: of a first one, or of one that is not shown whole."""
    return reply.get("path") or str(PurePath(reply["dir"], PurePath(reply["artifact"]).name))
