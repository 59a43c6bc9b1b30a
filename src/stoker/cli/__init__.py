"""The command line: `stoker NOUN ...`, one module a noun."""


def main() -> None:
    """The `stoker` command."""
    from stoker.cli.application import application

    application()
