"""`python -m perpkt`."""

from perpkt.cli.main import entry

entry()
