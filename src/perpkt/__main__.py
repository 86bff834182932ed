"""The console script, and `python -m perpkt`."""

import sys
from typing import NoReturn

from perpkt.errors import INTERRUPTED


def entry() -> NoReturn:
    """Run the command line. A Ctrl-C while it is still being imported is one like any other."""
    try:
        from perpkt.cli.main import main  # noqa: PLC0415 - inside the try

        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


if __name__ == "__main__":
    entry()
