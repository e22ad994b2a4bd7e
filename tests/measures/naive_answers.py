"""Every measure of answers once more, as slow and plain as its definition: loops over the record of one answer.

Written from the definitions, for answers of which all was judged; it shares nothing with src.  None: undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from steelyard.judges.verdict import CitedChunk, JudgedAnswer, Verdict

Value = float | None


def evaluate(name: str, record: JudgedAnswer, **params: str) -> Value:
    """The value of one answer."""
    return MEASURES[name](record, **params)


def yes(verdict: Verdict | None, label: str = "supported") -> bool:
    return verdict is not None and verdict.label == label


def mean(values: Iterable[float]) -> Value:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def checked(record: JudgedAnswer) -> list[int]:
    """Units that assert something, of an answer that is one."""
    return [i for i, unit in enumerate(record.units) if unit.checkable] if record.state == "answered" else []


def supported(record: JudgedAnswer, i: int, label: str = "supported") -> bool:
    whole = bool(record.grounded) and yes(record.grounded[i], label)
    return whole or yes(record.joint[i], label) or any(yes(verdict, label) for verdict in record.support[i])


def correct(record: JudgedAnswer, i: int) -> bool:
    return any(map(yes, record.correctness[i]))


def gold_units(record: JudgedAnswer) -> list[int]:
    return [i for i, unit in enumerate(record.gold_units) if unit.checkable]


def retrieved(record: JudgedAnswer, i: int) -> bool:
    return any(map(yes, record.reach[i]))


def relevant(record: JudgedAnswer, chunk: int) -> bool:
    return any(yes(record.reach[i][chunk]) for i in gold_units(record))


def best(record: JudgedAnswer, units: Iterable[int], good: Callable[[int], bool]) -> Value:
    """Of each gold answer the share of these units that is good; the largest."""
    shares = dict[int, list[bool]]()
    for i in units:
        shares.setdefault(record.gold_units[i].alternative, []).append(good(i))
    return max((sum(own) / len(own) for own in shares.values()), default=None)


def of_context(record: JudgedAnswer, value: Callable[[int], float]) -> Value:
    return None if record.context is None else mean(value(i) for i in checked(record))


def faithfulness(record: JudgedAnswer, by: str = "together") -> Value:
    if by == "chunk":
        if record.context and record.grounded and not any(v.label != "not_judged" for r in record.support for v in r):
            return None
        return of_context(record, lambda i: any(map(yes, record.support[i])))
    return of_context(record, lambda i: supported(record, i))


def contradiction(record: JudgedAnswer) -> Value:
    return of_context(record, lambda i: supported(record, i, "contradicted") and not supported(record, i))


def answer_precision(record: JudgedAnswer) -> Value:
    return mean(correct(record, i) for i in checked(record)) if gold_units(record) else None


def answer_recall(record: JudgedAnswer) -> Value:
    return best(record, gold_units(record), lambda i: yes(record.said[i]))


def answer_f1(record: JudgedAnswer) -> Value:
    precision, recall = answer_precision(record), answer_recall(record)
    if recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision and recall else 0.0


def context_recall(record: JudgedAnswer) -> Value:
    return None if record.context is None else best(record, gold_units(record), lambda i: retrieved(record, i))


def context_precision(record: JudgedAnswer) -> Value:
    if record.context is None or not gold_units(record):
        return None
    return mean(relevant(record, chunk) for chunk in range(len(record.context))) or 0.0


def noise_sensitivity(record: JudgedAnswer, chunks: str = "relevant") -> Value:
    if not gold_units(record):
        return None

    def follows(i: int) -> bool:
        by_relevant = any(yes(v) and relevant(record, chunk) for chunk, v in enumerate(record.support[i])) or (
            yes(record.joint[i]) and any(relevant(record, chunk) for chunk in valid(record, i))
        )
        return by_relevant if chunks == "relevant" else supported(record, i) and not by_relevant

    return of_context(record, lambda i: not correct(record, i) and follows(i))


def hallucination(record: JudgedAnswer) -> Value:
    if not gold_units(record):
        return None
    return of_context(record, lambda i: not correct(record, i) and not supported(record, i))


def self_knowledge(record: JudgedAnswer) -> Value:
    if not gold_units(record):
        return None
    return of_context(record, lambda i: correct(record, i) and not supported(record, i))


def context_utilization(record: JudgedAnswer) -> Value:
    units = [i for i in gold_units(record) if record.context is not None and retrieved(record, i)]
    return best(record, units, lambda i: yes(record.said[i]))


def cites(record: JudgedAnswer, i: int) -> list[CitedChunk]:
    return [citation for citation in record.citations if citation.unit == i]


def valid(record: JudgedAnswer, i: int) -> set[int]:
    return {citation.chunk for citation in cites(record, i) if citation.chunk is not None}


def citation_coverage(record: JudgedAnswer) -> Value:
    return mean(bool(cites(record, i)) for i in checked(record))


def citation_validity(record: JudgedAnswer) -> Value:
    if record.context is None or record.state in ("empty", "failed", "missing"):
        return None
    return mean(citation.chunk is not None for citation in record.citations)


def citation_support(record: JudgedAnswer) -> Value:
    return of_context(record, lambda i: bool(valid(record, i)) and yes(record.joint[i]))


def citation_precision(record: JudgedAnswer) -> Value:
    if record.context is None:
        return None
    needed = []
    for place, citation in enumerate(record.citations):
        i, chunk = citation.unit, citation.chunk
        if i not in checked(record):
            continue
        if chunk is None or not yes(record.joint[i]):
            needed.append(False)
        else:
            alone, others = yes(record.support[i][chunk]), len(valid(record, i)) > 1
            needed.append(alone or not (others and yes(record.without[place])))
    return mean(needed)


def misattribution(record: JudgedAnswer) -> Value:
    if record.context is None:
        return None
    wrong = []
    for i in checked(record):
        if cites(record, i):
            elsewhere = any(yes(v) for chunk, v in enumerate(record.support[i]) if chunk not in valid(record, i))
            wrong.append(elsewhere and not (valid(record, i) and yes(record.joint[i])))
    return mean(wrong)


def nugget_recall(record: JudgedAnswer, nuggets: str = "vital") -> Value:
    silent = record.state in ("empty", "failed", "missing")
    credits = [0.0 if silent else n.credit for n in record.nuggets if n.vital or nuggets == "all"]
    return mean(credit for credit in credits if credit is not None)


def context_relevance(record: JudgedAnswer) -> Value:
    return None if record.context is None else mean(map(yes, record.context_relevance)) or 0.0


def answer_relevance(record: JudgedAnswer) -> Value:
    if record.state in ("empty", "failed", "missing"):
        return 0.0
    return record.grade.score if record.grade else None


def criterion(record: JudgedAnswer, name: str = "answer_grade") -> Value:
    grade = next((own for own in record.criteria if own.name == name), None)
    if grade is None or record.state in ("empty", "failed", "missing"):
        return None if grade is None else 0.0
    return None if grade.value is None else (grade.value - 1) / 4


def answer_grade(record: JudgedAnswer) -> Value:
    return criterion(record)


def answerable_question(record: JudgedAnswer, answerable: str) -> bool | None:
    if answerable == "gold" or record.answerable is False:
        return record.answerable
    if record.context is None or not gold_units(record):
        return None
    return any(retrieved(record, i) for i in gold_units(record))


def abstention_precision(record: JudgedAnswer, answerable: str = "gold") -> Value:
    can = answerable_question(record, answerable)
    return None if can is None or record.state != "abstained" else float(not can)


def abstention_recall(record: JudgedAnswer, answerable: str = "gold") -> Value:
    can = answerable_question(record, answerable)
    return None if can is None or can else float(record.state == "abstained")


def abstention_f1(record: JudgedAnswer, answerable: str = "gold") -> Value:
    can, abstained = answerable_question(record, answerable), record.state == "abstained"
    return None if can is None or (can and not abstained) else float(abstained and not can)


def average_precision(labels: list[bool]) -> float:
    """ragas: sum of precision@k · v_k over sum of v_k."""
    shares = [sum(labels[: k + 1]) / (k + 1) for k, label in enumerate(labels) if label]
    return sum(shares) / len(shares) if shares else 0.0


def ragas_context_precision(record: JudgedAnswer) -> Value:
    if record.context is None or not gold_units(record):
        return None
    return average_precision([relevant(record, chunk) for chunk in range(len(record.context))])


def by_chunk(record: JudgedAnswer, label: str) -> list[bool] | None:
    """Whether each chunk has this verdict on any unit of the answer; None where there is nothing to ask."""
    if record.context is None or not checked(record):
        return None
    return [any(yes(record.support[i][c], label) for i in checked(record)) for c in range(len(record.context))]


def ragas_context_utilization(record: JudgedAnswer) -> Value:
    used = by_chunk(record, "supported")
    return None if used is None else average_precision(used)


def ragas_factual_correctness(record: JudgedAnswer, mode: str = "f1") -> Value:
    values = []
    for gold in sorted({record.gold_units[i].alternative for i in gold_units(record)}):
        tp = sum(yes(record.correctness[i][gold]) for i in checked(record))
        fp = len(checked(record)) - tp
        own = [i for i in gold_units(record) if record.gold_units[i].alternative == gold]
        fn = sum(not yes(record.said[i]) for i in own)
        whole = {"precision": tp + fp, "recall": tp + fn, "f1": tp + (fp + fn) / 2}[mode]
        values.append(tp / whole if whole else 0.0)
    return max(values, default=None)


def deepeval_faithfulness(record: JudgedAnswer) -> Value:
    contradicted = contradiction(record)
    return None if contradicted is None else 1 - contradicted


def deepeval_hallucination(record: JudgedAnswer) -> Value:
    contradicting = by_chunk(record, "contradicted")
    return None if contradicting is None else mean(contradicting) or 0.0


_OF_TOOLS = (
    ragas_context_precision, ragas_context_utilization, ragas_factual_correctness, deepeval_faithfulness,
    deepeval_hallucination,
)  # fmt: skip
MEASURES: dict[str, Callable[..., Value]] = {
    function.__name__.replace("_", ".", 1): function for function in _OF_TOOLS
} | {
    function.__name__: function
    for function in (
        faithfulness, contradiction, answer_precision, answer_recall, answer_f1, context_recall, context_precision,
        noise_sensitivity, hallucination, self_knowledge, context_utilization, citation_coverage, citation_validity,
        citation_support, citation_precision, misattribution, nugget_recall, context_relevance, answer_relevance,
        criterion, answer_grade, abstention_precision,
        abstention_recall, abstention_f1,
    )
}  # fmt: skip
