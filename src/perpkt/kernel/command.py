"""Runs the field's own tools (ip, tc, iptables) and turns what they say into errors."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence

from perpkt.errors import CommandError, ToolMissing

# iptables-legacy would leave /run/xtables.lock behind, and wait for runs in other namespaces.
_ENVIRONMENT = {"LC_ALL": "C", "XTABLES_LOCKFILE": "/dev/null"}

PACKAGES = {
    "ip": "iproute2",
    "tc": "iproute2",
    "iptables-legacy": "iptables",
    "nft": "nftables",
}


def search_path() -> str:
    """Where tools are looked for: sbin is not in every user's PATH, root's included after su."""
    return os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/local/sbin:/usr/sbin:/sbin"


def _environment() -> Mapping[str, str]:
    return {**os.environ, **_ENVIRONMENT, "PATH": search_path()}


def run(argv: Sequence[str], lines: Sequence[str] = ()) -> str:
    """Run a tool to its end, `lines` as its standard input; returns what it printed.

    Its own process group keeps a Ctrl-C on the terminal from ending it half way.
    """
    environment = _environment()
    try:
        done = subprocess.run(
            argv,
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            process_group=0,
            env=environment,
        )
    except FileNotFoundError:
        package = PACKAGES.get(argv[0], argv[0])
        raise ToolMissing(f"{argv[0]} is not installed", f"Install it: apt-get install {package}") from None
    except PermissionError as error:
        raise ToolMissing(
            f"{argv[0]} can't be run: {error.strerror}", f"Install it again: {PACKAGES.get(argv[0])}"
        ) from None
    except OSError as error:
        raise CommandError(_act(argv, ()), error.errno or 0) from None
    if done.returncode != 0:
        raise CommandError(_act(argv, lines), 0, _words(done.stderr) or f"it ended with status {done.returncode}")
    return done.stdout


def _act(argv: Sequence[str], lines: Sequence[str]) -> str:
    return shlex.join(argv) + "".join(f" [{line}]" for line in lines[:3])


def _words(stderr: str) -> str:
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    return "; ".join(lines[:3])
