"""`python -m bursar` is the command `bursar`."""

from .server.cli import main

if __name__ == "__main__":
    main()
