"""How a helper process is started: a bare Python that imports nothing but the folder `zygote`."""

import sys
from pathlib import Path

HERE = str(Path(__file__).parent)


def python(module: str, *arguments: str) -> list[str]:
    """Return how to start one that runs `main` of a module in `zygote`, with its arguments from `sys.argv[1]` on.

    It runs as a module and not as a script, so that its compiled form is kept.
    """
    boot = f"import sys; sys.path.append(sys.argv.pop(1)); from zygote.{module} import main; main()"
    return [sys.executable, "-I", "-S", "-c", boot, HERE, *arguments]
