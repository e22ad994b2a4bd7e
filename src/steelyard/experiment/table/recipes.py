"""Recipes of results: one quotable line of what was measured, and whether verdicts on systems were made alike."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from steelyard.base.arrays import Floats
from steelyard.base.differences import differences
from steelyard.base.errors import InputError
from steelyard.experiment.table.arrays import CAUSES, NOT_JUDGED, ScoreArrays
from steelyard.measures import Measure
from steelyard.measures.judged_answers import Codes, JudgedAnswers

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
    hold_out                 the share of the questions that is held out; None where all count
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
    hold_out: float | None = None

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
            "hold_out": self.hold_out,
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
        hold_out=recipe.get("hold_out"),
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


def check_same_judge(parts: Iterable[ScoreArrays]) -> None:
    """Raise   InputError where some systems, by measures that need verdicts, were judged otherwise than others."""
    if differ := judges_differ(parts):
        raise InputError(
            f"{differ}; judge both alike (steelyard judge, --judge NAME), or insist with --mixed-judges "
            "(mixed_judges=True)"
        )


def judges_differ(parts: Iterable[ScoreArrays]) -> str:
    """Difference between the verdicts of two systems, the first that do; empty where all were made in one way."""
    apart = first_apart(parts)
    if not apart:
        return ""
    (first, one), (system, other) = apart
    return f"{first} and {system} were judged differently: {first_difference(one, other)}"


def first_apart(parts: Iterable[ScoreArrays]) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """The first two systems that were judged in different ways, each with how; none where all were judged alike."""
    listed = [item for part in parts for item in methods(part)]
    return next(((listed[0], item) for item in listed[1:] if item[1] != listed[0][1]), ())


def comparable(scores: ScoreArrays) -> list[bool]:
    """By measure: whether values of its systems may be compared, as one judge, or people, decided about all of them."""
    apart = bool(first_apart([scores]))
    return [
        not (apart and reads_verdicts(measure))
        or all(str(measure) in scores.corrections.get(system, {}) for system in scores.systems)
        for measure in scores.measures
    ]


def first_difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The first key by which two ways of judging differ, with both values.

    >>> first_difference({"judge": {"name": "llm", "model": "a"}}, {"judge": {"name": "llm", "model": "b"}})
    "judge.model is 'a' and 'b'"
    """
    key, a, b = next(differences(one, other))
    return f"{key} is {a} and {b}"


def methods(scores: ScoreArrays) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each run of a system, and how it was judged; none where no measure needs verdicts."""
    recipes = scores.recipe_parts.get("verdicts")
    if recipes and any(map(reads_verdicts, scores.measures)):
        from steelyard.judges.tables.verdicts import method_of  # Judges take a moment to import.

        for system in scores.systems:
            for recipe in recipes.get(system, ()):
                yield system, method_of(recipe)


@lru_cache(maxsize=256)
def reads_verdicts(spec: Measure) -> bool:
    """True if a measure is of answers and needs a judge: without any verdict, its value of some answer is not known.

    >>> from steelyard.measures import parse
    >>> [reads_verdicts(parse(name)) for name in ("faithfulness", "exact_match", "citation_validity", "ndcg@5")]
    [True, False, False, False]
    """
    if not spec.definition.of_answers:
        return False
    if "criterion" in spec.definition.needs:  # Undefined without one of its name.
        return True
    return bool((causes_of(spec, _unjudged_example(), spec(_unjudged_example())) == 1 + CAUSES.index(NOT_JUDGED)).any())


@lru_cache(maxsize=1)
def _unjudged_example() -> JudgedAnswers:
    """An answer and an abstention with all that can be judged, and nothing judged."""
    from steelyard.judges.tables.arrays import judged_arrays
    from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Nugget, State, Unit, Verdict

    nothing = Verdict("not_judged")
    records = [
        JudgedAnswer(
            query_id, cast("State", state), answer="Nine [1].", context=("c", "d"), units=(Unit(0, 4, "Nine"),),
            citations=(CitedChunk(0, 5, 8, "[1]", 0),), gold_answers=("Nine",), gold_units=(Unit(0, 4, "Nine"),),
            support=((nothing, nothing),), joint=(nothing,), without=(None,), correctness=((nothing,),),
            said=(nothing,), reach=((nothing, nothing),), nuggets=(Nugget("Nine", vital=True, credit=None),),
            grade=nothing, answerable=answerable,
        )
        for query_id, state, answerable in (("a", "answered", True), ("b", "abstained", False))
    ]  # fmt: skip
    return judged_arrays({record.query_id: record for record in records}, ["a", "b"])


def causes_of(spec: Measure, answers: JudgedAnswers, values: Floats) -> Codes:
    """(q,) why values of a measure are 0 or not there: places in CAUSES from 1, 0 where nothing is to be said."""
    causes = spec.undefined_reasons(answers).astype(np.int8)
    nothing = causes == 0
    causes[nothing & np.isnan(values)] = 1 + CAUSES.index(NOT_JUDGED)
    if spec.definition.absent == "zero":
        causes[nothing & answers.absent & ~np.isnan(values)] = 1 + CAUSES.index("no_answer")
    return causes
