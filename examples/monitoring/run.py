"""Eight weeks of the bundled service, watched day after day, and once more in one look over all of them.

python examples/monitoring/run.py [--output FOLDER] [--seed N] [--sessions N] [--lang en|zh]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path

from simulate import DOCUMENTS, JUDGE, N_DAYS, SESSIONS, START, ZONE, Service

import steelyard as sy
from steelyard.monitoring.alerts import Alert
from steelyard.monitoring.looking import Look

END = START + timedelta(days=N_DAYS, hours=2)
"""The last look, at two in the night after the last day, as all are."""


def watch(service: Service) -> Iterator[tuple[datetime, Look]]:
    """Let the days pass, and look after each; gives the day and the look.

    The team accepts the first replay as the baseline, and the first one on the documents of the winter.
    """
    config = service.folder / "monitor.toml"
    for day in range(N_DAYS):
        if day == JUDGE:
            config.write_text(config.read_text("utf-8").replace("threshold = 0.5", "threshold = 0.8"), "utf-8")
        service.live(day)
        service.day(day)
        date = START + timedelta(days=day)
        yield date, sy.monitor(config, now=date + timedelta(days=1, hours=2))
        if day in (0, DOCUMENTS):
            with sy.Store(service.folder / "history.db") as store:
                store.accept("latest", who="team", why="these documents are the baseline")


def at_once(folder: Path) -> Look:
    """One look at all logs, by a monitor that remembers nothing: without replays, which ask the service of today."""
    config = tomllib.loads((folder / "monitor.toml").read_text("utf-8"))
    del config["replay"]
    logs, store = str(folder / "logs"), {"url": str(folder / "at-once.db")}
    return sy.monitor({**config, "name": "at-once", "logs": [logs], "store": store}, now=END)


class Told:
    """What was printed so far, so that it is printed once."""

    def __init__(self) -> None:
        self.changes, self.alerts = set[tuple[str, str]](), dict[str, bool]()

    def lines(self, look: Look) -> Iterator[str]:
        """What is new in a look: changes, and alerts that were raised or have ended."""
        for change in look.changes:
            if change.kind != "holiday" and (change.kind, change.text) not in self.changes:
                self.changes.add((change.kind, change.text))
                yield f"changed: {change.kind}, {change.text}"
        for alert in look.alerts:
            if self.alerts.get(alert.key) != (alert.until is None):
                is_over = alert.state == "alert" and alert.until is not None
                self.alerts[alert.key] = alert.until is None
                yield f"over: {alert.cause}" if is_over else alert_line(alert)


def alert_line(alert: Alert) -> str:
    """What an alert or a notice says, in two lines: its cause and beginning, and the series that shows it best."""
    shift, n = alert.shifts[0], len(alert.shifts) - 1
    name = " ".join(filter(None, [shift.series, shift.segment]))
    what = "ALERT" if alert.state == "alert" else "notice"
    more = f", +{n}" if n else ""
    return f"{what}: {alert.cause} since {local(alert.since)}\n    {name} {shift.before:.3f} → {shift.after:.3f}{more}"


def local(moment: datetime) -> str:
    """Its date where the service is."""
    return f"{moment.astimezone(ZONE):%Y-%m-%d}"


def main() -> None:
    """Watch eight weeks, and print what is new at each look, the last look, and what one look over all says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, help="A folder for logs, store and page; a temporary one by default.")
    parser.add_argument("--seed", type=int, default=7, help="Of all that is drawn.")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="Of a day, at first.")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="Of the last look and of its page.")
    options = parser.parse_args()
    if options.output is not None and (options.output / "history.db").exists():
        sys.exit(f"{options.output}: a monitor has watched it already; name another folder")
    with ExitStack() as stack:
        folder = options.output or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        told = Told()
        for date, look in watch(Service(folder, seed=options.seed, sessions=options.sessions)):
            for line in told.lines(look):
                print(f"{date:%Y-%m-%d} {line}")
        print()
        print(look.text(lang=options.lang, width=79))
        look.write(folder / "look.html", lang=options.lang)
        once = at_once(folder)
        print("In one look over all of them:")
        for alert in sorted([*once.past, *once.alerts], key=lambda alert: alert.since):
            print(alert_line(alert))


if __name__ == "__main__":
    main()
