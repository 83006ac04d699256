"""`python -m bapo` is the `bapo` command."""

from bapo.cli import app

if __name__ == "__main__":
    app()
