"""This perpkt's version, from what installed it. Loads quickly: `perpkt --help` needs it."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def own_version() -> str:
    """As pyproject.toml has it; "unknown" for sources that were not installed."""
    try:
        return version("perpkt")
    except PackageNotFoundError:
        return "unknown"
