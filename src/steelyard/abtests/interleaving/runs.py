"""Interleave runs: a page for each question, and how often their systems differ at all."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from steelyard.abtests.interleaving.pages import InterleavedPage, interleave
from steelyard.base.choices import InterleavingMethod
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.experiment.door.opening import open_corpus, open_systems
from steelyard.io.write import write_text
from steelyard.text.folding import STEPS, fold


@dataclass(frozen=True, eq=False, repr=False)
class InterleavedRuns(Result):
    """Pages of runs, one for each question of any of them.

    systems   names;   k, method   as they were asked for
    pages     question -> page
    lacking   questions of other runs that each has no document for
    written   where they were written to; empty for nowhere
    """

    VIEW: ClassVar[str] = "views.interleaving"

    systems: Sequence[str]
    k: int
    method: InterleavingMethod
    pages: Mapping[str, InterleavedPage]
    lacking: Mapping[str, int]
    written: str = ""

    @property
    def n_alike(self) -> int:
        """Pages without a place of any system: a click there says nothing."""
        return sum(not any(page.teams) for page in self.pages.values())

    @property
    def credited(self) -> Mapping[str, int]:
        """Places of all pages that are credited to each system."""
        counts = Counter(team for page in self.pages.values() for team in page.teams)
        return {system: counts[system] for system in self.systems}

    @property
    def n_places(self) -> int:
        """Places of all pages."""
        return sum(len(page.doc_ids) for page in self.pages.values())

    @property
    def frame(self) -> pl.DataFrame:
        """A page a row: query_id, doc_ids, teams, seed, and of drawn pages team_shares and propensities."""
        rows = [{"query_id": query_id, **page.record()} for query_id, page in self.pages.items()]
        return pl.DataFrame(rows, infer_schema_length=None)


def interleave_runs(
    runs: Mapping[str, object] | Sequence[str | Path], output: str | Path | None = None, *, k: int = 10,
    salt: str = "", method: InterleavingMethod = "team-draft", documents: object = None,
) -> InterleavedRuns:  # fmt: skip
    """A page of each question from runs of two systems or more, as `interleave` makes it with the question as request.

    It shows how often systems differ, which a test with users depends on, and serves pages that are built ahead.  A
    service that answers a question often should build a page for each request: pages that share their coins, whatever
    the users do, favour the same system every time.

    runs        files of runs, NAME=FILE names one; or name -> run, as a dict or a frame
    output      JSONL: qid, doc_ids, teams, seed, a question a line;   k, salt, method   as of `interleave`
    documents   where the texts are: those with one text, but for case, space, width and punctuation, are one document
    Raises      InputError for fewer than two runs, and as `interleave`; OutputError
    """
    rankings = _rankings(runs, k)
    ids = {doc_id for lists in rankings.values() for ranking in lists.values() for doc_id in ranking}
    corpus = open_corpus(documents)
    key = None if corpus is None else text_keys(corpus.texts(ids))
    questions = sorted({question for lists in rankings.values() for question in lists})
    pages = {
        question: interleave(
            {system: lists.get(question, []) for system, lists in rankings.items()}, question, k=k, salt=salt,
            method=method, key=key,
        )
        for question in questions
    }  # fmt: skip
    lacking = {system: sum(question not in lists for question in questions) for system, lists in rankings.items()}
    if output is not None:
        lines = (json.dumps({"qid": question, **page.record()}, ensure_ascii=False) for question, page in pages.items())
        write_text(output, "".join(f"{line}\n" for line in lines))
    return InterleavedRuns(list(rankings), k, method, pages, lacking, "" if output is None else str(output))


def text_keys(texts: Mapping[str, str]) -> dict[str, str]:
    """Fingerprints of texts by their ids, for `key` of `interleave`: equal where texts differ in case, space, width or
    punctuation alone.

    >>> keys = text_keys({"a": "Refunds: within 14 days.", "b": "refunds   within 14 days", "c": "Refunds: 30 days."})
    >>> keys["a"] == keys["b"], keys["a"] == keys["c"]
    (True, False)
    """
    return {doc_id: hashlib.sha256(_essence(text)).hexdigest()[:16] for doc_id, text in texts.items()}


def _essence(text: str) -> bytes:
    letters = "".join(c for c in fold(text, STEPS) if c.isalnum())
    return (letters or text).encode(errors="surrogatepass")


def _rankings(runs: object, k: int) -> dict[str, dict[str, list[str]]]:
    """system -> question -> ids of its documents, best first: twice k, as near-identical ones may be left out."""
    if k < 1:
        raise InputError(f"k is {k}; expected at least 1 place on a page")
    systems = open_systems(runs)
    if len(systems) < 2:
        raise InputError(f"runs are of {len(systems)} system; expected those of two or more")
    lists: dict[str, dict[str, list[str]]] = {}
    for system in systems:
        if system.repeats:
            raise InputError(f"{system.name}: has {len(system.runs)} runs; expected one of each system")
        best = system.run.top(2 * k).group_by("query_id", maintain_order=True).agg("doc_id")
        lists[system.name] = dict(zip(best["query_id"], best["doc_id"].to_list(), strict=True))
    return lists
