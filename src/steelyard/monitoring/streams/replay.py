"""Gold replay: the questions asked again of the live system, paired with the accepted baseline of the store."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from pydantic import BaseModel, ValidationError

from steelyard.base.differences import differing_rows
from steelyard.base.errors import InputError
from steelyard.base.notes import Note
from steelyard.experiment.table.recipes import judges_differ, reads_verdicts
from steelyard.experiment.table.repeats import repeated
from steelyard.experiment.table.scores import Scores
from steelyard.measures import Measure
from steelyard.monitoring.alerts import Change, Example, Shift, State
from steelyard.monitoring.streams.asking import Answers, ReplayTable, ask
from steelyard.monitoring.streams.result import Spent, StreamResult
from steelyard.stats.tests.replays import PairedGain, paired_gain, run_noise
from steelyard.store.documents import DOCUMENTS
from steelyard.store.entries import Entry
from steelyard.store.repeats import runs_of
from steelyard.store.store import Store
from steelyard.traffic.series import POINTS, Series

SERVICE = "failed_requests"
"""Series of the stream "service": share of the questions that the system failed on."""
_EXAMPLES, _RUNS, _DIGITS = 10, 8, 8
_WELL = 2
"""Looks in succession at which half of a loss is made up for, after which it is over."""
_RESTARTS = {"corpus": "replay_corpus", "judge": "replay_judge"}
"""Changes that ask for a new baseline, and the note that does."""
_PARTS = ("chunker", "embedder", "index", "fusion", "reranker", "prompt", "target")

# Memory --------------------------------------------------------------------------------------------------------------


class _Lost(BaseModel):
    """A measure that is lost: its shift as it was raised, and looks in succession at which it was well."""

    shift: Shift
    n_well: int = 0


class _Memory(BaseModel):
    """What a look leaves for the next one.

    past   measure -> start of a window and gain over the baseline, of the last looks, oldest first
    """

    time: datetime | None = None
    baseline: str = ""
    state: State = "few"
    changes: list[Change] = []
    examples: list[Example] = []
    notes: list[Note] = []
    lost: dict[str, _Lost] = {}
    outage: Shift | None = None
    restarts: list[Shift] = []
    past: dict[str, list[tuple[datetime, float]]] = {}

    @classmethod
    def of(cls, document: Mapping[str, Any] | None) -> _Memory:
        """Of a document; a damaged one is as good as none, since the store has all replays."""
        try:
            return cls.model_validate(document or {})
        except ValidationError:
            return cls()

    @property
    def shifts(self) -> list[Shift]:
        """What is lost, and what moved with a change that asks for a new baseline."""
        outage = [] if self.outage is None else [self.outage]
        return [*outage, *(lost.shift for lost in self.lost.values()), *self.restarts]

    def result(self, **more: Any) -> StreamResult:
        """The look that it is left by; with what is new in it."""
        return StreamResult(
            state=self.state, changes=self.changes, examples=self.examples, shifts=self.shifts, notes=self.notes,
            memory=self.model_dump(mode="json"), **more,
        )  # fmt: skip


# A look --------------------------------------------------------------------------------------------------------------


def replay(
    settings: ReplayTable,
    store: Store,
    *,
    monitor: str,
    now: datetime,
    share: float,
    memory: Mapping[str, Any] | None = None,
    base: Path = Path(),
) -> StreamResult:
    """Ask the questions again, where it is time to, and compare with the baseline.

    Each replay is recorded in the store with the tag monitor=NAME.  A measure is lost where its mean paired difference
    to the baseline is a loss at `share` over the number of measures, by the noise between runs (`paired_gain`), and at
    least the margin.  It stays lost, with one `since`, until half of that is made up for at two looks in succession.

    Questions that the system failed on, and those whose gold is not in its index, are left out of the difference and
    counted.  Where more than half fail, the service is down: that is one point of the stream "service".  Where the
    corpus or the judge is another than that of the baseline, nothing is tested, and a new baseline is asked for; levels
    that differ by the margin are shifts with the rule "restart", which are no alarm.

    share    false alarms that are allowed at one look, over all measures, in (0, 1)
    memory   what the last look left;   base   folder from which paths of the settings count
    Returns  the state of the last look, without points, where it is not yet time
    Raises   InputError for settings, questions or a truth that do not fit; OutputError where the store cannot be
             written
    """
    earlier = _Memory.of(memory)
    if earlier.time is not None and abs(now - earlier.time) < settings.period:
        return earlier.result()
    look = _ReplayLook(settings, store, monitor, now, share, earlier)
    recorded: list[tuple[Entry, _Baseline | Note]] = []
    answers = ask(settings, monitor=monitor, base=base, keep=lambda scores: recorded.append(look.record(scores)))
    spent = Spent(answers.n_asked, 0, answers.n_asked * (settings.usd_per_request or 0.0))
    if answers.scores is None:
        return look.outage(answers, spent)
    return look.compared(answers, *recorded[0], spent)


@dataclass(frozen=True, eq=False)
class _Baseline:
    """The entry that is compared with: its values as means of all its runs, and what runs of it are known.

    system   its name there;   n_runs   that the values are means of
    runs     of the baseline, and of replays before this one; None between runs that differ by more than chance
    """

    entry: Entry
    system: str
    scores: Scores
    n_runs: int
    runs: Sequence[Scores | None]


@dataclass(frozen=True, eq=False)
class _ReplayLook:
    """One look: what it is of, and what the last one left."""

    settings: ReplayTable
    store: Store
    monitor: str
    now: datetime
    share: float
    earlier: _Memory

    @property
    def start(self) -> datetime:
        """Start of the window that ends now: what is new has happened since the last replay."""
        last = self.earlier.time
        return self.now - self.settings.period if last is None or last >= self.now else last

    @property
    def tag(self) -> str:
        """By which replays of this monitor are known in the store."""
        return f"monitor={'-'.join(self.monitor.split())}"

    def record(self, scores: Scores) -> tuple[Entry, _Baseline | Note]:
        """Record a replay, and find the baseline that was there before, or why there is none.

        The commit of a live system is not known: that of the working folder is recorded as changed, so that no gate
        takes replays of it for repeats.
        """
        baseline = self._baseline(scores)
        return self.store.add(scores, tags=[self.tag], command="monitor", dirty=True, time=self.now), baseline

    def _baseline(self, scores: Scores) -> _Baseline | Note:
        try:
            entry = self.store.entry(self.settings.baseline, truth=scores.signature.truth)
            own = self.store.scores(entry.id)
        except InputError:
            code = "replay_baseline_removed" if self.earlier.baseline else "replay_no_baseline"
            return Note(
                code, {"name": self.settings.baseline, "entry": self.earlier.baseline, "store": self.store.name}
            )
        names, name = own.systems, scores.systems[0]
        if name not in names and len(names) > 1:
            return Note("replay_other_systems", {"entry": entry.id, "name": name, "names": [*names], "n": len(names)})
        runs = [run for _, run in runs_of(self.store, entry)]
        try:
            together = repeated(runs)
        except InputError:
            runs, together = [own], own
        system = name if name in names else names[0]
        n_runs = len(together.repeats.get(system, (None,)))
        return _Baseline(entry, system, together, n_runs, [*runs, *self._replays(entry)])

    def _replays(self, baseline: Entry) -> Iterator[Scores | None]:
        """The last replays on the same truth, oldest first, with None where configuration or corpus changed: between,
        runs differ by chance.
        """
        rows = self.store.entries().filter(
            pl.col("tags").list.contains(self.tag), truth=baseline.truth
        ).filter(pl.col("id") != baseline.id)  # fmt: skip
        before: object = None
        for ref in reversed(rows["id"].head(_RUNS).to_list()):
            config = [own.get("config") for own in self.store.entry(ref).fingerprints.values()]
            if config != before:
                yield None
            before = config
            yield self.store.scores(ref)

    def outage(self, answers: Answers, spent: Spent) -> StreamResult:
        """A service that is down: what was lost before stays as it was."""
        earlier, failed = self.earlier, answers.share_failed
        since = earlier.outage.since if earlier.outage is not None else self.start
        shift = Shift(
            SERVICE, "", "service", "lower", 0.0, failed, failed, failed, since, since, self.now,
            rule="jump", odds=1 / self.share,
        )  # fmt: skip
        error = next(iter(answers.failed.values()))
        values = {"n": len(answers.failed), "total": answers.n_asked, "error": error}
        memory = earlier.model_copy(update={
            "time": self.now, "state": "alert", "outage": shift, "notes": [Note("replay_outage", values)],
            "examples": [Example(own, answers.texts[own], text) for own, text in answers.failed.items()][:_EXAMPLES],
        })  # fmt: skip
        return memory.result(points=self._points([self._service(answers)]), series=[SERVICE_SERIES], spent=spent)

    def compared(self, answers: Answers, entry: Entry, baseline: _Baseline | Note, spent: Spent) -> StreamResult:
        """The replay beside its baseline."""
        assert answers.scores is not None
        scores = answers.scores
        series = [SERVICE_SERIES, *(_series(measure, self.settings.margin) for measure in scores.measures)]
        rows, memory = [self._service(answers)], _Memory(time=self.now, notes=_count_notes(answers))
        if isinstance(baseline, Note):
            memory.notes.insert(0, baseline)
            memory.baseline = self.earlier.baseline
            return memory.result(points=self._points(rows), series=series, spent=spent)
        memory.baseline = baseline.entry.id
        if memory.baseline == self.earlier.baseline:
            memory.lost, memory.past = dict(self.earlier.lost), dict(self.earlier.past)
        memory.changes = self._changes(entry, scores, baseline)
        kinds = {change.kind for change in memory.changes}
        if gone := int((scores.unwinnable[0] & ~_of_ids(baseline, scores)).sum()):
            memory.notes.append(Note("replay_gold_gone", {"n": gone, "total": len(scores.query_ids)}))
        pairs = [_Pairs.of(scores, baseline, measure, answers.failed) for measure in scores.measures]
        untested = {
            pair.name for pair in pairs
            if "corpus" in kinds or ("judge" in kinds and reads_verdicts(pair.measure)) or len(pair.ids) < 2
        }  # fmt: skip
        for pair in pairs:
            gain = None if pair.name in untested else pair.gain
            rows.append(self._row(pair.name, None if gain is None else pair, gain))
            if gain is not None:
                self._follow(memory, pair, gain, len(pairs) - len(untested))
            elif len(pair.ids) > 1:
                memory.restarts += self._restart(pair, memory.changes)
        restarts = [code for kind, code in _RESTARTS.items() if kind in kinds]
        memory.notes += [Note(code, {"entry": entry.id, "baseline": baseline.entry.id}) for code in restarts]
        memory.examples = [example for pair in pairs if pair.name in memory.lost for example in pair.worst(answers)]
        memory.state = (
            "alert" if memory.lost else "warn" if restarts
            else "few" if len(untested) == len(pairs) else "well"
        )  # fmt: skip
        return memory.result(points=self._points(rows), series=series, spent=spent)

    def _follow(self, memory: _Memory, pair: _Pairs, gain: PairedGain, n_tests: int) -> None:
        """Raise a loss, keep one that lasts, and end one that is over."""
        past = [*memory.past.get(pair.name, []), (self.start, gain.mean)][-30:]
        memory.past[pair.name] = past
        lost, level = memory.lost.get(pair.name), self.share / n_tests
        is_lost = gain.p < level and gain.mean <= -self.settings.margin
        if lost is None and not is_lost:
            return
        if lost is None:
            starts = [start for start, own in past]
            first = next((i + 1 for i in reversed(range(len(past))) if past[i][1] > gain.mean / 2), 0)
            since, low, high = starts[first], starts[max(first - 1, 0)], [*starts, self.now][first + 1]
            memory.lost[pair.name] = _Lost(shift=pair.shift(gain, since, low, high, odds=1 / level))
            return
        half = pair.sign * (lost.shift.after - lost.shift.before) / 2
        n_well = lost.n_well + 1 if gain.mean > half else 0
        if n_well == _WELL:
            del memory.lost[pair.name]
            return
        old = lost.shift
        shift = pair.shift(gain, old.since, old.since_low, old.since_high, odds=old.odds) if not n_well else old
        memory.lost[pair.name] = _Lost(shift=shift, n_well=n_well)

    def _restart(self, pair: _Pairs, changes: Sequence[Change]) -> Iterator[Shift]:
        """The levels before and after a change that asks for a new baseline, where they differ by the margin."""
        since = next((change.time for change in changes if change.kind in _RESTARTS), self.start)
        if abs((gain := pair.gain).mean) >= self.settings.margin:
            yield replace(pair.shift(gain, since, since, self.now, odds=1 / self.share), rule="restart")

    def _changes(self, entry: Entry, scores: Scores, baseline: _Baseline) -> list[Change]:
        """What is another than it was for the baseline, each at the time when that was seen first."""
        system = scores.systems[0]
        settings = [baseline.entry.settings.get(baseline.system, {}), entry.settings.get(system, {})]
        before, after = baseline.entry.fingerprints.get(baseline.system, {}), entry.fingerprints.get(system, {})
        texts = {"config": _config_change(settings, before, after), "corpus": ""}
        corpora = before.get("corpus"), after.get("corpus")
        if None not in corpora and corpora[0] != corpora[1]:
            documents = [
                _documents(self.store, own, str(corpus))
                for own, corpus in zip((baseline.entry, entry), corpora, strict=True)
            ]
            texts["corpus"] = _corpus_change(*documents)
        own, other = scores.renamed({system: "now"}), baseline.scores.filter(systems=baseline.system)
        texts["judge"] = judges_differ([other.renamed({baseline.system: "baseline"}), own])
        seen = {(change.kind, change.text): change for change in self.earlier.changes}
        return [
            seen.get((kind, text), Change(kind, self.start, text)) for kind, text in texts.items() if text
        ]  # fmt: skip

    def _service(self, answers: Answers) -> Mapping[str, Any]:
        share, n = answers.share_failed, answers.n_asked
        return self._point(SERVICE, share, math.sqrt(share * (1 - share) / n), None, n)

    def _row(self, name: str, pair: _Pairs | None, gain: PairedGain | None) -> Mapping[str, Any]:
        if pair is None or gain is None:
            return self._point(name, None, None, None, 0)
        return self._point(name, pair.sign * gain.mean, gain.error, gain.p, gain.n)

    def _point(self, name: str, value: float | None, error: float | None, p: float | None, n: int) -> dict[str, Any]:
        return {
            "series": name, "segment": "", "start": self.start, "end": self.now,
            "value": value, "error": error, "p": p, "n": n,
        }  # fmt: skip

    def _points(self, rows: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
        return pl.DataFrame(rows, schema=POINTS)


SERVICE_SERIES = Series(SERVICE, "service", better="lower", scale="share")


def _series(measure: Measure, margin: float) -> Series:
    return Series(str(measure), "replay", better=measure.definition.direction, floor=margin)


# Pairs ---------------------------------------------------------------------------------------------------------------


def _values(scores: Scores, system: str, measure: Measure) -> dict[str, float]:
    """Question -> value, of those that the system answered and whose gold is in its index."""
    if measure not in scores.measures:
        return {}
    i, j = list(scores.systems).index(system), list(scores.measures).index(measure)
    row = scores.values[i, j]
    there = ~(scores.failed[i] | scores.missing[i] | scores.unwinnable[i] | np.isnan(row))
    return {scores.query_ids[q]: float(row[q]) for q in np.flatnonzero(there).tolist()}


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Values of the questions that the live system and the baseline both have one for, by one measure."""

    measure: Measure
    ids: Sequence[str]
    now: np.ndarray[Any, Any]
    before: np.ndarray[Any, Any]
    baseline: _Baseline

    @classmethod
    def of(cls, scores: Scores, baseline: _Baseline, measure: Measure, failed: Collection[str]) -> _Pairs:
        """Those of a measure;   failed   questions that are left out"""
        own = _values(scores, scores.systems[0], measure)
        other = _values(baseline.scores, baseline.system, measure)
        ids = [query_id for query_id in own if query_id in other and query_id not in failed]
        now, before = (np.array([values[query_id] for query_id in ids], np.float64) for values in (own, other))
        return cls(measure, ids, now, before, baseline)

    @property
    def name(self) -> str:
        """Of the measure, and of its series."""
        return str(self.measure)

    @property
    def sign(self) -> int:
        """1 where higher is better, else -1."""
        return 1 if self.measure.definition.higher_is_better else -1

    @property
    def gain(self) -> PairedGain:
        """The mean gain, with the noise between runs of the baseline and of the replays before this one."""
        runs = []
        for scores in self.baseline.runs:
            named = scores is not None and self.baseline.system in scores.systems
            system = self.baseline.system if scores is None or named else scores.systems[0]
            values = {} if scores is None else _values(scores, system, self.measure)
            runs.append(np.array([values.get(query_id, math.nan) for query_id in self.ids], np.float64))
        d = self.sign * np.where(np.isclose(self.now, self.before, rtol=1e-12, atol=0), 0.0, self.now - self.before)
        return paired_gain(d, run_noise(runs), n_baseline=self.baseline.n_runs)

    def shift(self, gain: PairedGain, since: datetime, low: datetime, high: datetime, *, odds: float) -> Shift:
        """A loss, as alerts have it: before and after are means of the measure over these questions."""
        ends = sorted(self.sign * end for end in gain.interval())
        return Shift(
            self.name, "", "replay", self.measure.definition.direction, float(self.before.mean()),
            float(self.now.mean()), ends[0], ends[1], since, low, high, rule="paired", odds=odds,
        )  # fmt: skip

    def worst(self, answers: Answers) -> list[Example]:
        """The questions that lost most."""
        gain = self.sign * (self.now - self.before)
        order = [q for q in np.argsort(gain, kind="stable").tolist() if gain[q] < 0][:_EXAMPLES]
        return [
            Example(
                self.ids[q], answers.texts.get(self.ids[q], ""),
                f"{self.name} {self.before[q]:.4g} → {self.now[q]:.4g}",
            )
            for q in order
        ]  # fmt: skip


def _of_ids(baseline: _Baseline, scores: Scores) -> np.ndarray[Any, Any]:
    """(q,) whether the gold of a question was in no chunk of the baseline's corpus already."""
    own, i = baseline.scores, list(baseline.scores.systems).index(baseline.system)
    gone = {own.query_ids[q] for q in np.flatnonzero(own.unwinnable[i]).tolist()}
    return np.array([query_id in gone for query_id in scores.query_ids], bool)


def _count_notes(answers: Answers) -> list[Note]:
    """Questions that are left out, counted."""
    notes = []
    if answers.failed:
        values = {"n": len(answers.failed), "total": answers.n_asked, "error": next(iter(answers.failed.values()))}
        notes.append(Note("replay_failed", values))
    if answers.left_out:
        notes.append(Note("replay_budget", {"n": answers.left_out, "total": answers.n_asked + answers.left_out}))
    return notes


# What changed --------------------------------------------------------------------------------------------------------


def _config_change(settings: Sequence[Mapping[str, str]], before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """The settings that changed, as "k 10 → 5"; else the parts whose fingerprints did; "" where nothing did."""
    if before.get("config") == after.get("config") or not all(settings):
        return ""
    rows = {key: own for key, own in differing_rows(settings).items() if key.rpartition(".")[2] != "concurrency"}
    if not rows and before.get("corpus") == after.get("corpus"):
        parts = [part for part in _PARTS if before.get(part) != after.get(part)] or ["config"]
        rows = {part: tuple((own.get(part) or "–")[:_DIGITS] for own in (before, after)) for part in parts}
    return "; ".join(f"{key} {old or '–'} → {new or '–'}" for key, (old, new) in rows.items())


def _documents(store: Store, entry: Entry, corpus: str) -> tuple[str, dict[str, bytes]]:
    """The digest of a corpus, and document -> digest of its text, where the entry has them."""
    if DOCUMENTS not in entry.parts:
        return corpus, {}
    frame = store.result(entry.id, DOCUMENTS).filter(corpus=corpus)
    return corpus, dict(zip(frame["doc_id"], frame["digest"], strict=True))


def _corpus_change(before: tuple[str, dict[str, bytes]], after: tuple[str, dict[str, bytes]]) -> str:
    """Both digests, and how many documents are new (+), gone (−) and changed (~), where they are known."""
    (old_digest, old), (new_digest, new) = before, after
    text = f"{old_digest[:_DIGITS]} → {new_digest[:_DIGITS]}"
    if not old or not new:
        return text
    changed = sum(old[doc] != new[doc] for doc in old.keys() & new.keys())
    return f"{text} (+{len(new.keys() - old.keys())} −{len(old.keys() - new.keys())} ~{changed})"
