"""The command that watches a running system: one look, or one after the other."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from steelyard.base.errors import InputError, SteelyardError

if TYPE_CHECKING:
    from steelyard.cli.calls import Call
    from steelyard.monitoring.config import MonitorConfig
    from steelyard.monitoring.looking import Look

STATUS = {"well": 0, "warn": 0, "alert": 1, "few": 3}
"""Exit status by the state of a look; what cannot be looked at is 2, as everywhere."""
FAILED_SINK = 1
"""Exit status of --test-sinks where one did not take the message."""


def monitor(
    call: Call, config: Path, *, every: str | None, as_of: str | None, accept: str | None,
    why: str | None, test_sinks: bool, check: bool,
) -> int:  # fmt: skip
    """Look once and return the status, look again and again, or do what one of the flags says."""
    from steelyard.monitoring.config import MonitorConfig

    modes = {"--every": every, "--accept": accept, "--test-sinks": test_sinks, "--check": check}
    named = [name for name, value in modes.items() if value]
    if len(named) > 1:
        raise InputError(f"{named[0]} and {named[1]} are two things to do; name one of them")
    settings = MonitorConfig.read(config)
    if accept is not None:
        return _accept(call, settings, accept, why)
    if test_sinks:
        return _test(call, settings)
    if check:
        from steelyard.monitoring.watching import check_budget

        call.write(check_budget(settings))
        return 0
    if every is not None:
        return _stay(call, settings, every)
    return _look_once(call, settings, config, as_of)


def _look_once(call: Call, settings: MonitorConfig, config: Path, as_of: str | None) -> int:
    from steelyard.history.listing import moment

    look = call.function(settings, now=moment(as_of, "as-of"))
    _deliver(settings, look)
    page = ["monitor", str(config), "-o", f"{settings.name}.html"]
    call.write(look, following=page if look.state == "alert" else [])
    return STATUS[look.state]


def _stay(call: Call, settings: MonitorConfig, every: str) -> int:
    """Look again and again until the user ends it; what goes wrong at a look is said, and the next one tries again."""
    from steelyard.monitoring.sinks.serving import exposition, serving_metrics
    from steelyard.reports.views.look import look_line
    from steelyard.traffic.windows import parse_duration

    period, status = parse_duration(every).total_seconds(), 0
    with ExitStack() as stack:
        addresses = [sink.serve for sink in settings.sink if getattr(sink, "serve", None)]
        served = [stack.enter_context(serving_metrics(address)) for address in addresses]
        try:
            while True:
                following = datetime.now(UTC) + timedelta(seconds=period)
                try:
                    look: Look = call.function(settings)
                    _deliver(settings, look)
                    for metrics in served:
                        metrics.publish(exposition(look, datetime.now(UTC)))
                    status = STATUS[look.state]
                    print(look_line(look, call.words, following=following), flush=True)
                    if call.output is not None:
                        call.write(look)
                except SteelyardError as error:
                    print(f"steelyard: {error}", file=sys.stderr, flush=True)
                time.sleep(max((following - datetime.now(UTC)).total_seconds(), 1.0))
        except KeyboardInterrupt:
            return status


def _deliver(settings: MonitorConfig, look: Look) -> None:
    """Send what is due, and say on standard error what did not arrive."""
    from steelyard.monitoring.watching import deliver

    for failure in deliver(settings, look):
        print(f"steelyard: {failure}", file=sys.stderr)


def _accept(call: Call, settings: MonitorConfig, key: str, why: str | None) -> int:
    from steelyard.monitoring.watching import accept_level

    alert = accept_level(settings, key, why=why or "")
    print(call.words("monitor.accepted", key=alert.key, n=len(alert.shifts)))
    return 0


def _test(call: Call, settings: MonitorConfig) -> int:
    from steelyard.monitoring.sinks.declared import test_sinks
    from steelyard.reports.views.messages import trial_message

    test = test_sinks(settings.sink, trial_message(settings.name, datetime.now(UTC), lang=settings.lang))
    call.write(test)
    return FAILED_SINK if test.failures else 0
