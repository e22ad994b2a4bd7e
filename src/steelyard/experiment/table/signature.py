"""One quotable line for any result: what was measured, on how many queries, by which rules, of which data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SHOWN_RUNS = 3
_DIGITS = 8


@dataclass(frozen=True)
class Signature:
    """Facts that must be equal for two results to be comparable; `str` gives the line.

    measures                 specs
    n                        fewest and most queries that a mean is of
    missing, no_relevant     what such queries count as: "zero" or "skip"; None where both have no say
    unit                     "document" where lists of chunks are weighed as their documents; None where they are not
    rule                     by which a chunk holds gold; None where documents are named by id
    steps                    by which texts are folded to find gold, none as (); None where documents are named by id
    on_duplicate             which of two equal documents is kept: "first" or "max"; None where two are an error
    normalise_ids            the Unicode form that ids were brought into; None where they are as they were
    truth                    digest of the gold, None where there is none
    corpus                   digest of the corpus apart from the runs that gold is looked up in, None without one
    runs                     system -> digest of its run
    steelyard                version, None where the values come from elsewhere
    cluster                  by which questions count as one: "doc" or a field; None where each counts by itself
    judges                   who judged the answers, and a digest of how; empty where no measure needs that
    """

    measures: tuple[str, ...]
    n: tuple[int, int]
    missing: str | None
    no_relevant: str | None
    rule: str | None
    steps: tuple[str, ...] | None
    on_duplicate: str | None
    truth: str | None
    corpus: str | None
    runs: Mapping[str, str]
    steelyard: str | None
    cluster: str | None = None
    unit: str | None = None
    judges: tuple[str, ...] = ()
    normalise_ids: str | None = None

    def __str__(self) -> str:
        low, high = self.n
        facts = {
            "n": f"{low}" if low == high else f"{low}-{high}",
            "missing": self.missing,
            "no_relevant": self.no_relevant,
            "unit": self.unit,
            "rule": self.rule,
            "steps": None if self.steps is None else ",".join(self.steps) or "none",
            "cluster": self.cluster,
            "on_duplicate": self.on_duplicate,
            "normalise_ids": self.normalise_ids,
            "judge": ",".join(self.judges) or None,
            "truth": None if self.truth is None else _short(self.truth),
            "corpus": None if self.corpus is None else _short(self.corpus),
            "runs": _runs(self.runs) or None,
            "steelyard": self.steelyard,
        }
        return "; ".join([",".join(self.measures), *(f"{k}:{v}" for k, v in facts.items() if v is not None)])


def signature_of(recipe: Mapping[str, Any], n: int | tuple[int, int]) -> Signature:
    """The signature of a result, from its recipe and the number of queries in it (fewest and most, where they differ).

    >>> recipe = {"measures": ["map"], "missing": "zero", "no_relevant": "zero", "steelyard": "1.0",
    ...           "truth": {"name": "qrels", "digest": "sha256:0123456789abcdef"}}
    >>> str(signature_of(recipe, 40))
    'map; n:40; missing:zero; no_relevant:zero; truth:01234567; steelyard:1.0'
    """
    steps, on_duplicate = recipe.get("steps"), recipe.get("on_duplicate")
    return Signature(
        measures=tuple(recipe["measures"]), n=(n, n) if isinstance(n, int) else n, missing=recipe.get("missing"),
        no_relevant=recipe.get("no_relevant"), rule=recipe.get("rule"),
        steps=None if steps is None else tuple(sorted(set(steps))),
        on_duplicate=None if on_duplicate == "error" else on_duplicate,
        truth=recipe.get("truth", {}).get("digest"), corpus=recipe.get("corpus", {}).get("digest"),
        runs=dict(recipe.get("runs", {})), steelyard=recipe.get("steelyard"),
        cluster=recipe.get("cluster"), unit=None if recipe.get("unit") == "chunk" else recipe.get("unit"),
        judges=_judges(recipe.get("verdicts", {})), normalise_ids=recipe.get("normalise_ids"),
    )  # fmt: skip


def _judges(verdicts: Mapping[str, Sequence[Mapping[str, Any]]]) -> tuple[str, ...]:
    """Each judge once, with the first digits of a digest of how it judged."""
    if not verdicts:
        return ()
    from steelyard.judges.tables.verdicts import method_of

    methods = [method_of(recipe) for recipes in verdicts.values() for recipe in recipes]
    digests = [
        hashlib.sha256(json.dumps(method, sort_keys=True, default=str).encode()).hexdigest() for method in methods
    ]
    return tuple(
        dict.fromkeys(
            f"{method['judge']['name']}/{digest[:_DIGITS]}" for method, digest in zip(methods, digests, strict=True)
        )
    )


def _short(digest: str) -> str:
    """The first digits of a digest, or of several."""
    return "+".join(part.rpartition(":")[2][:_DIGITS] for part in digest.split(", "))


def _runs(digests: Mapping[str, str]) -> str:
    """Each run by its digest; of many, how many there are and a digest of all."""
    if len(digests) <= _SHOWN_RUNS:
        return ",".join(map(_short, digests.values()))
    together = hashlib.sha256("\n".join(sorted(digests.values())).encode()).hexdigest()
    return f"{len(digests)}x{together[:_DIGITS]}"
