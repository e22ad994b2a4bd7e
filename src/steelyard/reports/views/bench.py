"""A bench as sections: the choice first, then each axis by itself, and how it was measured."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from steelyard.bench.bench import Bench
from steelyard.bench.config import LoadTable
from steelyard.reports.views.bench_load import load_summary_section
from steelyard.reports.views.bench_summary import recommended_row, summary_section
from steelyard.reports.views.bench_tables import TABLES
from steelyard.reports.views.notes import signature_note
from steelyard.reports.views.sheet import Column, Paragraph, Section, Sheet, sheet_of
from steelyard.reports.views.view import Look, View
from steelyard.reports.visible import single_line
from steelyard.reports.words import Words

AXES = ("quality", "diagnostics", "latency", "stages", "streaming", "token_fit", "throughput", "sustained", "ramp",
        "scalability", "costs", "returns", "choice")  # fmt: skip
"""The frames of a bench, in the order of its report."""


def bench_sections(bench: Bench, words: Words) -> list[Section]:
    """All that was measured; sections without anything are left out."""
    sections, preference = [bench_summary_section(bench, words)], words(f"bench.choice.{bench.config.prefer}")
    for name, tables in TABLES.items():
        if sheets := [sheet for table in tables for sheet in table(bench, words)]:
            lead = Paragraph(words(f"bench.{name}.lead", preference=preference))
            sections.append(Section(name, words(f"bench.{name}.title"), [lead], sheets))
    return [*sections, _about(bench, words)]


def bench_summary_section(bench: Bench, words: Words) -> Section:
    """The bench in ten lines, which the commands of `steelyard bench` print."""
    return load_summary_section(bench, words) if bench.folder.kind == "load" else summary_section(bench, words)


def _blocks(bench: Bench, look: Look) -> list[Section]:
    """Blocks of `bench rerank` and `bench load`: the recommendation and why, one row a system, and what is next."""
    section = bench_summary_section(bench, look.words)
    # A path with blanks is one word of a command.
    section.sheets[-1].notes.append(look.words("bench.summary.next", folder=shlex.quote(_short(bench.folder.path))))
    return [section]


def _short(path: Path) -> str:
    """A path as it is typed here: relative where it is below the working directory."""
    here, whole = Path.cwd(), path.absolute()
    return str(whole.relative_to(here) if whole.is_relative_to(here) else whole)


def bench_papers(bench: Bench, words: Words) -> list[Sheet]:
    """The table of the summary, for a paper; the caption says what is recommended."""
    section = bench_summary_section(bench, words)
    return [replace(section.sheets[0], notes=[section.title, *section.sheets[0].notes])]


def bench_data(bench: Bench) -> dict[str, Any]:
    """Every axis in full precision; null where there is no number, or no end of an interval."""
    row = recommended_row(bench)
    return {
        "kind": bench.folder.kind,
        "name": bench.config.name,
        "config": bench.config.resolved(),
        "manifest": bench.folder.manifest,
        "recommended": None if row is None else {"system": row["system"], "depth": row["depth"]},
        **{axis: getattr(bench, axis).to_dicts() for axis in AXES},
    }


def _about(bench: Bench, words: Words) -> Section:
    """Under which circumstances it was measured."""
    config, manifest = bench.config, bench.folder.manifest
    load, of_load = config.load or LoadTable(), bench.folder.kind == "load"
    facts = {
        "name": config.name, "finished": manifest.get("finished"), "machine": _machines(manifest, words),
        "computing": _listed(manifest.get("computing") or {}),
        "versions": _listed({name: manifest.get(name) for name in ("steelyard", "python")}
                            | dict(manifest.get("libraries") or {})),
        **({
            "arrivals": single_line(str(load.arrivals)) if load.has_log else words(f"bench.arrivals.{load.arrivals}"),
            "duration": load.log_s if load.has_log else load.duration, "load_warm_up": load.warm_up,
            "think_time": load.think_time if load.concurrency else None,
        } if of_load else {
            "repetitions": config.repetitions, "warm_up": config.warm_up, "margin": config.margin,
            "prefer": words(f"bench.preference.{config.prefer}"),
        }),
        "timeout": config.timeout, "seed": config.seed,
    }  # fmt: skip
    notes = [*([] if of_load else [words("bench.about.order")]), *signature_note(bench.scores.signature, words)]
    columns = [
        Column[tuple[str, object]](words("bench.head.what"), lambda fact: words(f"bench.about.{fact[0]}")),
        Column[tuple[str, object]](words("bench.head.value"), lambda fact: str(fact[1])),
    ]
    known = [(name, value) for name, value in facts.items() if value not in (None, "")]
    return Section("about", words("bench.about.title"), [], [sheet_of(known, columns, notes)])


def _machines(manifest: Mapping[str, Any], words: Words) -> str:
    """Processor, cores and system of each machine that it was measured on."""
    machines = manifest.get("machines") or [manifest.get("machine") or {}]
    return words("list.semicolon").join(
        words("list.comma").join(
            [
                *([str(own["cpu"])] if "cpu" in own else []),
                *([words("bench.about.cores", n=own["cores"])] if "cores" in own else []),
                *([str(own["os"])] if "os" in own else []),
            ]
        )
        for own in machines
    )


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)


VIEWS = {
    Bench: View[Bench](
        "a bench",
        blocks=_blocks,
        data=lambda bench, words: bench_data(bench),
        rows=lambda bench: bench.scores.per_query,
        papers=bench_papers,
        label="bench",
    )
}
