"""Metrics: as the parser of Prometheus' own client reads them, from a file or a server."""

import http.client
import math
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.base.errors import OutputError
from steelyard.monitoring.sinks.serving import exposition, serving_metrics
from tests.hypothesis_profiles import examples
from tests.monitoring.messages import TIME, detection, look

parser = pytest.importorskip("prometheus_client.parser")
NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


def parsed(text: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Name -> labels and value of each sample."""
    families = list(parser.text_string_to_metric_families(text))
    assert {family.type for family in families} == {"gauge"}
    assert all(family.documentation for family in families)
    samples: dict[str, list[Any]] = {}
    for family in families:
        samples[family.name] = [(sample.labels, sample.value) for sample in family.samples]
    return samples


def test_a_look_is_gauges() -> None:
    samples = parsed(exposition(look(detection(), detection("p95", "language=zh", value=None, z=None)), TIME))
    ctr = {"monitor": "search", "series": "ctr", "segment": "", "stream": "feedback"}
    p95 = {"monitor": "search", "series": "p95", "segment": "language=zh", "stream": "feedback"}
    assert samples["steelyard_value"] == [(ctr, 0.24)]
    assert samples["steelyard_z"] == [(ctr, -4.5)]
    assert samples["steelyard_window_units"] == [(ctr, 1800), (p95, 1800)]
    assert samples["steelyard_series_state"] == [(ctr, 2), (p95, 2)]
    assert samples["steelyard_state"] == [({"monitor": "search"}, 2)]
    streams = {labels["stream"]: value for labels, value in samples["steelyard_stream_state"]}
    assert streams == {"feedback": 2, "operations": -1}
    lasting = {labels["cause"]: value for labels, value in samples["steelyard_alerts_open"]}
    assert {cause for cause, n in lasting.items() if n} == {"segment", "corpus"}
    assert (lasting["segment"], len(lasting)) == (1, 9)
    assert samples["steelyard_look_timestamp_seconds"] == [({"monitor": "search"}, TIME.timestamp())]
    assert samples["steelyard_window_end_timestamp_seconds"] == [({"monitor": "search"}, TIME.timestamp())]


@given(monitor=NAMES, series=NAMES, segment=NAMES, value=st.floats())
@examples(100)
def test_any_name_and_number_is_read_back(monitor: str, series: str, segment: str, value: float) -> None:
    text = exposition(look(detection(series, segment, value=value), monitor=monitor), TIME)
    ((labels, number),) = parsed(text)["steelyard_value"]
    assert labels == {"monitor": monitor, "series": series, "segment": segment, "stream": "feedback"}
    assert number == value or (math.isnan(number) and math.isnan(value))


def fetch(address: str, path: str, method: str = "GET") -> tuple[int, str, str]:
    connection = http.client.HTTPConnection(address, timeout=5)
    connection.request(method, path)
    reply = connection.getresponse()
    content = reply.read().decode()
    connection.close()
    return reply.status, reply.headers["Content-Type"], content


def test_metrics_are_served_until_the_end() -> None:
    with serving_metrics("127.0.0.1:0") as metrics:
        assert fetch(metrics.address, "/metrics")[::2] == (200, "")
        text = exposition(look(detection("检索")), TIME)
        metrics.publish(text)
        status, kind, content = fetch(metrics.address, "/metrics?x=1")
        assert (status, kind, content) == (200, "text/plain; version=0.0.4; charset=utf-8", text)
        assert fetch(metrics.address, "/etc/passwd")[0] == 404
        assert fetch(metrics.address, "/metrics", "POST")[0] == 501
        with socket.create_connection(("127.0.0.1", int(metrics.address.split(":")[1]))):
            assert fetch(metrics.address, "/metrics")[0] == 200  # A client that says nothing keeps no other waiting.
        with pytest.raises(OutputError, match="metrics cannot be served there"), serving_metrics(metrics.address):
            pass
    with pytest.raises(ConnectionRefusedError):
        fetch(metrics.address, "/metrics")
