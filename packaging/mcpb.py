"""The desktop extension: one file that Claude Desktop installs; the `uv` that it brings fetches the rest.

uv run --no-project packaging/mcpb.py [DIRECTORY]

Writes bursar-VERSION.mcpb (to dist/): a manifest, the wheel, and a project that needs nothing but that wheel.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def bundle(target: Path) -> Path:
    """Write the extension into a directory; returns its path."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    target.mkdir(parents=True, exist_ok=True)
    path = target / f"bursar-{project['version']}.mcpb"
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", place, ROOT], check=True)
        (wheel,) = Path(place).glob("*.whl")
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
            out.writestr("manifest.json", json.dumps(manifest(project), indent=2, ensure_ascii=False))
            out.writestr("pyproject.toml", needing(wheel.name, project))
            out.writestr("server.py", "from bursar.server.cli import main\n\nmain()\n")
            out.write(ROOT / "LICENSE", "LICENSE")
            out.write(wheel, wheel.name)
    return path


def manifest(project: dict[str, Any]) -> dict[str, Any]:
    """Say what the extension is, and what is asked of the user."""
    return {
        "manifest_version": "0.4",
        "name": "bursar",
        "display_name": "bursar",
        "version": project["version"],
        "description": project["description"],
        "author": {"name": project["authors"][0]["name"]},
        "license": project["license"],
        "keywords": project["keywords"],
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", "server.py", "--root", "${user_config.root}"],
            },
        },
        "tools_generated": True,
        "user_config": {
            "root": {
                "type": "directory",
                "title": "Directory",
                "description": "The tools read, write and run commands here",
                "required": True,
                "default": "${DOCUMENTS}",
            }
        },
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": project["requires-python"]},
        },
    }


def needing(wheel: str, project: dict[str, Any]) -> str:
    """Return a project that needs the wheel beside it."""
    return f"""\
[project]
name = "bursar-extension"
version = "{project["version"]}"
requires-python = "{project["requires-python"]}"
dependencies = ["bursar"]

[tool.uv.sources]
bursar = {{ path = "{wheel}" }}
"""


if __name__ == "__main__":
    made = bundle(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist")
    sys.stdout.write(f"{made}\n")
