"""Measures of logs, by name: what users did, what can be said without labels, and what it took."""

from steelyard.traffic.measures.registry import (
    Percentile,
    Quantity,
    Ratio,
    Total,
    TrafficDefinition,
    TrafficMeasure,
    Values,
    measurable,
    measured_columns,
    traffic_definitions,
    traffic_measure,
    traffic_measures,
)

__all__ = [
    "Percentile", "Quantity", "Ratio", "Total", "TrafficDefinition", "TrafficMeasure", "Values", "measurable",
    "measured_columns", "traffic_definitions", "traffic_measure", "traffic_measures",
]  # fmt: skip
