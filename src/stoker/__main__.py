"""`python -m stoker` is the command `stoker`."""

from stoker.cli import main

main()
