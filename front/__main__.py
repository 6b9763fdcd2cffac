"""`python -m bursar` is the command `bursar`."""

from bursar.server.cli import main

if __name__ == "__main__":
    main()
