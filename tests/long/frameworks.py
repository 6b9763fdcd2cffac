"""The agents of docs/frameworks.md run, each framework in an environment of its own beside the project's.

uv run tests/long/frameworks.py [NAME]
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = {"pydantic-ai": "pydantic_ai", "langchain": "langchain", "openai-agents": "openai_agents", "adk": "adk"}
"""Each with the word that the names of its tests have."""


def main():
    failed = []
    for name in sys.argv[1:] or EXTRAS:
        print(f"--- {name}", flush=True)
        words = ["uv", "run", "--isolated", "--no-dev", "--extra", name, "--with", "pytest", "--with", "hypothesis"]
        test = ["pytest", "tests/history/test_frameworks.py", "-q", "-k", EXTRAS[name]]
        done = subprocess.run([*words, *test], cwd=ROOT, check=False)
        failed += [name] if done.returncode else []
    sys.exit(f"failed: {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
