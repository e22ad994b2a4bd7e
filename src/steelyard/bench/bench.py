"""A bench that is finished: what it measured, and what follows from that."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from pathlib import Path

import polars as pl

from steelyard.base.choices import Prefer
from steelyard.base.errors import InputError
from steelyard.base.result import Result
from steelyard.bench.blocks import read_rankings, read_requests
from steelyard.bench.choice.choice import choice
from steelyard.bench.choice.returns import net_benefit, returns
from steelyard.bench.config import BenchConfig
from steelyard.bench.costs import costs, request_costs
from steelyard.bench.frames import system_label
from steelyard.bench.load.latency import latency, stages, streaming, token_fit
from steelyard.bench.load.throughput import Objective, ramp, scalability, sustained, throughput
from steelyard.bench.quality.gains import ceiling_label, quality
from steelyard.bench.quality.lists import diagnostics
from steelyard.data.folders.manifests import CEILINGS, CONFIG, SCORES, BenchFolder, find_bench_folder
from steelyard.experiment.table.json import read_scores
from steelyard.experiment.table.scores import Scores

_AGAIN = "start the same bench again, which computes them from what was measured"


@dataclass(frozen=True, eq=False, repr=False)
class Bench(Result):
    """A bench of rerankers, or of systems under load.  Read one with `Bench.read(folder)`.

    folder    where it is, and its manifest
    config    what was weighed, and how; files that it names are not opened
    scores    by question: quality, latency, tokens and cost of each system
    ceilings  quality of the ideal order of the first N candidates, as systems ceiling@N; None for systems under load
    requests  all that were timed, of schema REQUESTS
    rankings  what rerankers gave, of schema RANKINGS
    """

    VIEW = "views.bench"

    folder: BenchFolder
    config: BenchConfig
    scores: Scores
    ceilings: Scores | None
    requests: pl.DataFrame = field(repr=False)
    rankings: pl.DataFrame = field(repr=False)

    @classmethod
    def read(cls, path: str | Path) -> Bench:
        """Read the folder of a bench; it needs nothing beside it.

        Raises   InputError for what is no bench, and for one that was interrupted or is damaged.
        """
        folder = find_bench_folder(path)
        if folder is None:
            raise InputError(
                f"{path}: is no folder of a bench; expected what `steelyard bench rerank` or `steelyard bench load` "
                "writes, with a manifest.json"
            )
        ceilings, blocks = folder.path / CEILINGS, folder.manifest.get("blocks")
        bench = cls(
            folder,
            BenchConfig.stored(folder.config),
            read_scores(folder.scores, advice=_AGAIN),
            ceilings=read_scores(ceilings, advice=_AGAIN) if ceilings.exists() else None,
            requests=read_requests(folder.path, blocks),
            rankings=read_rankings(folder.path, blocks),
        )
        bench._check_fit()
        return bench

    def _check_fit(self) -> None:
        """Raise   InputError where configuration, scores and ceilings are not of one bench of rerankers."""
        if self.folder.kind == "load":
            return
        expected = [self.base_name, *(option.label for option in self.config.options)]
        ceilings = [ceiling_label(depth) for depth in self.config.depths]
        fits = self.ceilings is not None and self.scores.systems == expected and self.ceilings.systems == ceilings
        if not fits or self.ceilings is None or self.ceilings.query_ids != self.scores.query_ids:
            raise InputError(f"{self.folder.path}: {CONFIG}, {SCORES} and {CEILINGS} are not of one bench; {_AGAIN}")

    @property
    def base_name(self) -> str:
        """The name in scores of the candidates as they are."""
        return self.config.base_name

    @cached_property
    def quality(self) -> pl.DataFrame:
        """Each reranker over each depth beside the candidates as they are and their ceiling, of schema QUALITY."""
        return quality(self.config.options, self.scores, self.ceilings)

    @cached_property
    def diagnostics(self) -> pl.DataFrame:
        """Changes that rerankers made to the lists, of schema DIAGNOSTICS."""
        return diagnostics(self.config.options, self.scores, self.rankings, self.requests)

    @cached_property
    def latency(self) -> pl.DataFrame:
        """Times of requests, for each system, depth and load, of schema LATENCY."""
        return latency(self.requests)

    @cached_property
    def stages(self) -> pl.DataFrame:
        """Times of the stages of systems that report them, of schema STAGES."""
        return stages(self.requests)

    @cached_property
    def streaming(self) -> pl.DataFrame:
        """Times until the first token, and from one to the next, of schema STREAMING."""
        return streaming(self.requests)

    @cached_property
    def token_fit(self) -> pl.DataFrame:
        """Times of requests by the tokens that were read, of schema TOKEN_FIT."""
        return token_fit(self.requests)

    @cached_property
    def throughput(self) -> pl.DataFrame:
        """Results of each level of load, of schema THROUGHPUT; no rows where no load was measured."""
        return throughput(self.requests, Objective.of(self.config.load))

    @cached_property
    def sustained(self) -> pl.DataFrame:
        """The highest rate that each system bears within the objective, of schema SUSTAINED."""
        return sustained(self.throughput)

    @cached_property
    def ramp(self) -> pl.DataFrame:
        """Each stretch of a rate that rose, of schema RAMP; `ramp_ends` says where it was too high."""
        return ramp(self.requests, self.config.load)

    @cached_property
    def scalability(self) -> pl.DataFrame:
        """Growth of throughput with users, of schema SCALABILITY; from three numbers of users on."""
        return scalability(self.requests)

    @cached_property
    def costs(self) -> pl.DataFrame:
        """Costs of each system, of schema COSTS."""
        requests, clustering = self._priced_requests, self.scores.clustering
        clusters = None
        if clustering is not None and self.folder.kind != "load":
            clusters = dict(zip(self.scores.query_ids, clustering.codes.tolist(), strict=True))
        return costs(self.config, requests, self._request_costs, self.sustained, day=self.day, clusters=clusters)

    @cached_property
    def returns(self) -> pl.DataFrame:
        """Returns of reranking for its cost, of schema RETURNS."""
        return returns(self.config, self.scores, self._request_costs)

    @cached_property
    def choice(self) -> pl.DataFrame:
        """Which reranker to take, and why not the others, of schema CHOICE."""
        return choice(
            self.config, self.scores, self._sequential, gains=self.quality, costs=self.costs, sustained=self.sustained,
            net=net_benefit(self.config, self.scores, self._request_costs, self.returns),
        )  # fmt: skip

    def preferring(self, prefer: Prefer) -> Bench:
        """The same bench with another preference: its choice is by that, and nothing is measured or written.

        Raises   InputError for a net benefit where the configuration does not say what success is worth.
        """
        with self.config.origin.locating():
            self.config.check_prefer(prefer)
        return replace(self, config=self.config.model_copy(update={"prefer": prefer}))

    @property
    def recommended(self) -> str | None:
        """The name in scores of the system that the choice recommends; None where there is no choice."""
        rows = self.choice.filter(pl.col("recommended")).select("system", "depth").rows()
        return system_label(*rows[0]) if rows else None

    @property
    def day(self) -> date:
        """When it was finished, by UTC."""
        return datetime.fromisoformat(self.folder.manifest["finished"]).date()

    @cached_property
    def _request_costs(self) -> pl.DataFrame:
        return request_costs(self.config, self._priced_requests, self.rankings, self.sustained)

    @property
    def _sequential(self) -> pl.DataFrame:
        return self.requests.filter(loop="sequential")

    @property
    def _priced_requests(self) -> pl.DataFrame:
        """The requests that costs are computed from: of a load test, all that there are."""
        return self.requests if self.folder.kind == "load" else self._sequential

    @property
    def frame(self) -> pl.DataFrame:
        """The scores, one row for each system, question and measure."""
        return self.scores.frame

    def __repr__(self) -> str:
        return f"Bench({self.config.name!r}: {self.scores!r})"
