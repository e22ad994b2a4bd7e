"""An interleaving and three A/B tests of the bundled service: what the commands say of their logs.

python examples/ab/run.py [--output FOLDER] [--seed N] [--sessions N]
"""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from simulate import SESSIONS, START, TESTS, Service
from terminal import say, steelyard

import steelyard as sy


def decide() -> None:
    """Let the commands look at the logs of the working folder."""
    say("How long does it take to see a gain of 5.5%? The log of the last four weeks knows.")
    steelyard("ab plan --metric ctr --from before --difference 5.5% --guardrail latency_ms:p95=20%")
    say("Which ranking do users prefer? Three days with both on one page.")
    steelyard("interleave analyse interleaving")
    for name in TESTS:
        sy.register_experiment(f"{name}.toml", now=START - timedelta(days=1))
    say("The winner, in a test of four weeks, which was registered the day before.")
    steelyard("ab analyse hybrid.toml before hybrid")
    say("A cheaper index, which knows no Chinese.")
    steelyard("ab analyse spaces.toml before spaces")
    say("The winner once more, on a page that loses users of a browser from the log.")
    steelyard("ab analyse page.toml before page")
    say("All of it as a page.")
    steelyard("ab analyse hybrid.toml before hybrid -o hybrid.html")


def main() -> None:
    """Simulate the logs, and decide on each test."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="A folder for logs and pages; a temporary one by default.")
    parser.add_argument("--seed", type=int, default=7, help="Of what people do.")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="Of a day.")
    options = parser.parse_args()
    os.environ.setdefault("COLUMNS", "79")
    with ExitStack() as stack:
        folder = options.output or Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        Service(folder, seed=options.seed, sessions=options.sessions).live()
        os.chdir(folder)
        decide()


if __name__ == "__main__":
    main()
