"""Metrics for Prometheus: the text that it reads, and a server of it."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, get_args

from steelyard.base.errors import OutputError
from steelyard.base.settings import SettingError
from steelyard.monitoring.alerts import Cause, State
from steelyard.monitoring.looking import Look

STATES: Mapping[State, int] = {"few": -1, "well": 0, "warn": 1, "alert": 2}
"""Numbers of states."""
_OF_STATES = "-1 too few data, 0 well, 1 warn, 2 alert"
_GAUGES: Mapping[str, str] = {
    "steelyard_value": "Value of a series in its newest window.",
    "steelyard_z": "Standard deviations between a series in its newest window and what was expected.",
    "steelyard_window_units": "Units behind the value: users, questions or answers of the newest window.",
    "steelyard_series_state": f"State of a series: {_OF_STATES}.",
    "steelyard_stream_state": f"State of a stream: {_OF_STATES}.",
    "steelyard_state": f"State of the monitor: {_OF_STATES}.",
    "steelyard_alerts_open": "Alerts and notices that last, by what each is probably about.",
    "steelyard_window_end_timestamp_seconds": "End of the newest window, in seconds since 1970.",
    "steelyard_look_timestamp_seconds": "Time of the last look, in seconds since 1970.",
}
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PATIENCE_S = 5.0

Sample = tuple[str, Mapping[str, str], float | None]


def exposition(look: Look, now: datetime) -> str:
    """The gauges of a look in the text format of Prometheus (version 0.0.4); what is unknown is left out."""
    samples: dict[str, list[str]] = {name: [] for name in _GAUGES}
    for name, labels, value in _samples(look, now):
        if value is not None:
            pairs = {"monitor": look.monitor, **labels}.items()
            text = ",".join(f'{label}="{_plain(content).translate(_ESCAPES)}"' for label, content in pairs)
            samples[name].append(f"{name}{{{text}}} {_number(value)}\n")
    heads = {name: f"# HELP {name} {_GAUGES[name]}\n# TYPE {name} gauge\n" for name in _GAUGES}
    return "".join(heads[name] + "".join(lines) for name, lines in samples.items() if lines)


def _samples(look: Look, now: datetime) -> Iterator[Sample]:
    for detection in look.detections:
        series = detection.series
        labels = {"series": series.name, "segment": detection.segment, "stream": series.stream}
        yield "steelyard_series_state", labels, STATES[detection.state]
        for row in detection.chart.tail(1).iter_rows(named=True):
            yield "steelyard_value", labels, row["value"]
            yield "steelyard_z", labels, row["z"]
            yield "steelyard_window_units", labels, row["n"]
    for stream, state in look.streams.items():
        yield "steelyard_stream_state", {"stream": stream}, STATES[state]
    yield "steelyard_state", {}, STATES[look.state]
    lasting = [alert.cause for alert in look.alerts if alert.until is None]
    for cause in get_args(Cause):
        yield "steelyard_alerts_open", {"cause": cause}, lasting.count(cause)
    yield "steelyard_window_end_timestamp_seconds", {}, None if look.time is None else look.time.timestamp()
    yield "steelyard_look_timestamp_seconds", {}, now.timestamp()


def _plain(text: str) -> str:
    """The text as UTF-8 can hold it."""
    return text.encode(errors="backslashreplace").decode()


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def address_of(text: str) -> str:
    """An address to serve at, as it was given.

    Raises   SettingError for what is not HOST:PORT.
    """
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 <= int(port) < 65536:
        raise SettingError(f"{text!r} is no address to serve at; expected HOST:PORT, such as 127.0.0.1:9464")
    return text


class Metrics:
    """What a server of metrics shows: the last text that was published.

    address   HOST:PORT where it listens
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._content = b""

    def publish(self, text: str) -> None:
        """Show this text from now on."""
        self._content = text.encode()

    @property
    def content(self) -> bytes:
        """The text in UTF-8; empty before the first one."""
        return self._content


class _Handler(BaseHTTPRequestHandler):
    metrics: ClassVar[Metrics]
    timeout = _PATIENCE_S
    server_version, sys_version = "steelyard", ""

    def do_GET(self) -> None:
        """Answer /metrics, and nothing else."""
        is_metrics = self.path.partition("?")[0] == "/metrics"
        content = self.metrics.content if is_metrics else b"see /metrics\n"
        self.send_response(200 if is_metrics else 404)
        self.send_header("Content-Type", _TYPE)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing: standard error is for what went wrong."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """Nothing: a client that goes away is no error of ours."""


@contextmanager
def serving_metrics(address: str) -> Iterator[Metrics]:
    """A server of /metrics in a thread of its own, for as long as the block lasts.

    address   HOST:PORT; port 0 takes a free one
    Raises    OutputError where nothing can listen there.
    """
    host, _, port = address.rpartition(":")
    handler = type("Handler", (_Handler,), {})
    try:
        server = _Server((host.strip("[]"), int(port)), handler)
    except OSError as error:
        raise OutputError(
            f"{address}: metrics cannot be served there ({error.strerror or error}); choose another port"
        ) from None
    with server:
        metrics = handler.metrics = Metrics(f"{host}:{server.server_port}")  # type: ignore[attr-defined]
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="steelyard-metrics", daemon=True
        )
        thread.start()
        try:
            yield metrics
        finally:
            server.shutdown()
            thread.join()
