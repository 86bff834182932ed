"""What every tier of tests shares: its mark, and what it needs.

A tier is a folder of tests. PERPKT_REQUIRE, a comma list of tiers (netns, root, vm), turns
"skipped, since this machine can't" into a failure: CI says what it must be able to run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test of tests/netns with its tier."""
    for item in items:
        if item.path.is_relative_to(TESTS / "netns"):
            item.add_marker(pytest.mark.netns)


def lacking(tier: str, reason: str) -> None:
    """End the test: skipped, or failed where PERPKT_REQUIRE names its tier."""
    if tier in os.environ.get("PERPKT_REQUIRE", "").split(","):
        pytest.fail(f"PERPKT_REQUIRE names {tier}, but {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def netns() -> None:
    """The test needs root, iproute2 and network namespaces."""
    if os.geteuid() != 0:
        lacking("netns", "network namespaces need root")
    if shutil.which("ip") is None:
        lacking("netns", "ip (iproute2) is not installed")
