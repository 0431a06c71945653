"""`python -m commands` runs the command without an installed script."""

from commands.start import run

if __name__ == "__main__":
    run()
