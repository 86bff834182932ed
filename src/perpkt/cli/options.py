"""Options that several verbs have."""

from __future__ import annotations

import argparse
from typing import Any

FORMATS = ("text", "markdown", "json", "csv", "netdev")

Verbs = Any  # argparse's action for sub-parsers, which has no public type


def add_format(verb: argparse.ArgumentParser) -> None:
    """--format."""
    verb.add_argument("--format", choices=FORMATS, default="text", help="of the report (default: text)")


def add_json(verb: argparse.ArgumentParser) -> None:
    """--json."""
    verb.add_argument("--json", action="store_true", help="for a program to read")
