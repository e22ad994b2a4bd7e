"""A bench as sections: the choice first, then each axis by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from steelyard.bench.bench import Bench
from steelyard.bench.config import BenchConfig, LoadTable
from steelyard.report.views.bench_load import load_summary_section
from steelyard.report.views.bench_summary import summary_section
from steelyard.report.views.bench_tables import (
    changes_sheet,
    choice_sheet,
    costs_sheet,
    currency_of,
    heads,
    in_order,
    latency_sheet,
    load_sheet,
    objective_text,
    quality_sheets,
    ramp_sheet,
    returns_sheets,
    scalability_sheet,
    stages_sheet,
    streaming_sheet,
    sustained_sheet,
    tokens_sheet,
    users_sheet,
)
from steelyard.report.views.notes import signature_note
from steelyard.report.views.sheet import Paragraph, Section, Sheet
from steelyard.report.visible import single_line
from steelyard.report.words import Words


def bench_sections(bench: Bench, words: Words) -> list[Section]:
    """All that was measured; sections without anything are left out."""
    config, objective, currency = bench.config, objective_text(bench.config, words), currency_of(bench)
    diagnostics, latency = in_order(bench.diagnostics, config), in_order(bench.latency, config)
    throughput = in_order(bench.throughput, config)
    tables: dict[str, Sequence[Sheet | None]] = {
        "quality": quality_sheets(in_order(bench.quality, config), bench.base_name, words),
        "changes": [None if diagnostics.is_empty() else changes_sheet(diagnostics, words)],
        "latency": [
            latency_sheet(latency, words), stages_sheet(in_order(bench.stages, config), words),
            tokens_sheet(in_order(bench.token_fit, config), words),
        ],
        "load": [
            sustained_sheet(in_order(bench.sustained, config), objective, words),
            load_sheet(latency, throughput, words), users_sheet(latency, throughput, words),
            streaming_sheet(in_order(bench.streaming, config), words),
            ramp_sheet(in_order(bench.ramp, config), words),
            scalability_sheet(in_order(bench.scalability, config), words),
        ],
        "costs": [costs_sheet(in_order(bench.costs, config), words)],
        "returns": returns_sheets(in_order(bench.returns, config), currency, words),
        "choice": [choice_sheet(in_order(bench.choice, config), currency, words)],
    }  # fmt: skip
    sections = [bench_summary_section(bench, words)]
    for name, sheets in tables.items():
        shown = [sheet for sheet in sheets if sheet is not None]
        if shown:
            lead = Paragraph(words(f"bench.{name}.lead", preference=words(f"bench.choice.{config.prefer}")))
            sections.append(Section(name, words(f"bench.{name}.title"), [lead], shown))
    return [*sections, _about(bench, words)]


def bench_summary_section(bench: Bench, words: Words) -> Section:
    """What comes of a bench in ten lines, which the commands of `steelyard bench` print."""
    return load_summary_section(bench, words) if bench.folder.kind == "load" else summary_section(bench, words)


def _about(bench: Bench, words: Words) -> Section:
    """Under which circumstances it was measured."""
    config, manifest = bench.config, bench.folder.manifest
    of_kind = _load_facts(config, words) if bench.folder.kind == "load" else _rerank_facts(config, words)
    facts = {
        "name": config.name, "finished": manifest.get("finished"), "machine": _machines(manifest, words),
        "computing": _listed(manifest.get("computing") or {}), "versions": _versions(manifest),
        **of_kind, "timeout": config.timeout, "seed": config.seed,
    }  # fmt: skip
    rows = [[words(f"bench.about.{name}"), f"{value}"] for name, value in facts.items() if value not in (None, "")]
    order = [] if bench.folder.kind == "load" else [words("bench.about.order")]
    notes = [*order, *signature_note(bench.scores.signature, words)]
    return Section("about", words("bench.about.title"), [], [Sheet(heads(("what", "value"), words), rows, notes=notes)])


def _rerank_facts(config: BenchConfig, words: Words) -> dict[str, object]:
    return {
        "repetitions": config.repetitions, "warm_up": config.warm_up, "margin": config.margin,
        "prefer": words(f"bench.preference.{config.prefer}"),
    }  # fmt: skip


def _load_facts(config: BenchConfig, words: Words) -> dict[str, object]:
    load = config.load or LoadTable()
    return {
        "arrivals": single_line(str(load.arrivals)) if load.has_log else words(f"bench.arrivals.{load.arrivals}"),
        "duration": load.log_s if load.has_log else load.duration, "load_warm_up": load.warm_up,
        "think_time": load.think_time if load.concurrency else None,
    }  # fmt: skip


def _machines(manifest: Mapping[str, Any], words: Words) -> str:
    """Processor, cores and system of each machine that it was measured on."""
    machines = manifest.get("machines") or [manifest.get("machine") or {}]
    return words("list.semicolon").join(
        words("list.comma").join([
            *([str(own["cpu"])] if "cpu" in own else []),
            *([words("bench.about.cores", n=own["cores"])] if "cores" in own else []),
            *([str(own["os"])] if "os" in own else []),
        ])
        for own in machines
    )  # fmt: skip


def _versions(manifest: Mapping[str, Any]) -> str:
    """Steelyard, Python, and the libraries that took part."""
    own = {name: manifest.get(name) for name in ("steelyard", "python")} | dict(manifest.get("libraries") or {})
    return _listed({name: version for name, version in own.items() if version is not None})


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
