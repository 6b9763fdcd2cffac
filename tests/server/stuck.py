"""A server whose tool waits in a thread that nothing ends, as one does that reads from a file system that has gone."""

import time
from pathlib import Path

import anyio
from bursar.server.cli import main
from bursar.tools.read_file import ReadFile


async def stuck(_tool, args, _call):
    """Say that it has begun, and never end."""
    Path(args.path).touch()  # noqa: ASYNC240 - a name and no more
    await anyio.to_thread.run_sync(time.sleep, 600)


ReadFile.run = stuck

if __name__ == "__main__":
    main()
