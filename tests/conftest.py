"""What every tier of tests shares: its mark, and what it needs.

A tier is a folder of tests. PERPKT_REQUIRE, a comma list of tiers (netns, root, vm), turns
"skipped, since this machine can't" into a failure: CI says what it must be able to run.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from perpkt import probe
from perpkt.errors import HostError

TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test of tests/netns and tests/root with its tier."""
    for item in items:
        for tier in ("netns", "root"):
            if item.path.is_relative_to(TESTS / tier):
                item.add_marker(tier)


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


@pytest.fixture(scope="session")
def root(netns: None) -> None:
    """The test runs the program as its users do: live frames and iptables are needed too."""
    try:
        probe.check_live()
    except HostError as error:
        lacking("root", str(error))
