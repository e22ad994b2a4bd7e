"""Measures of answers, from records worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

import steelyard as sy
from steelyard.base.arrays import Floats
from steelyard.judges.tables.arrays import judged_arrays
from steelyard.judges.verdict import JudgedAnswer
from steelyard.measures import JudgedAnswers, parse
from steelyard.measures.undefined import REASONS
from tests.judges.small import MISSING, NO, RECORD, UNKNOWN, YES
from tests.measures.registered import forget_afterwards


def arrays(*records: JudgedAnswer) -> JudgedAnswers:
    keyed = {f"q{n}": record for n, record in enumerate(records)}
    return judged_arrays(keyed, list(keyed))


def value(measure: str, record: JudgedAnswer) -> float:
    return float(parse(measure)(arrays(record))[0])


def test_what_was_not_judged_is_in_the_denominator_of_nothing_and_of_everything() -> None:
    unknown = replace(RECORD, support=((), (NO, YES), (UNKNOWN, NO)), grounded=())
    judged = arrays(RECORD, unknown, MISSING)
    spec = parse("faithfulness")
    np.testing.assert_array_equal(spec(judged), [0.5, np.nan, np.nan])
    low, high = spec.bounds(judged)
    np.testing.assert_array_equal(low, [0.5, 0.5, np.nan])
    np.testing.assert_array_equal(high, [0.5, 1.0, np.nan])
    assert [REASONS[code] for code in spec.undefined_reasons(judged).tolist()] == ["", "", "no_answer"]


def test_a_measure_of_answers_refuses_rankings_and_others_refuse_verdicts() -> None:
    alignment = sy.weigh({"q": {"a": 1}}, {"q": ["a"]}).alignments[0]
    with pytest.raises(sy.MeasureError, match="faithfulness is of answers; it is computed from the verdicts on them"):
        parse("faithfulness")(alignment)
    with pytest.raises(sy.MeasureError, match="ndcg@5 is of what was retrieved; it cannot be computed from verdicts"):
        parse("ndcg@5")(arrays(RECORD))
    with pytest.raises(sy.MeasureError, match="faithfulness takes no parameter 'pool'"):
        parse("faithfulness(pool=judged)")
    with pytest.raises(sy.MeasureError, match="faithfulness takes no cut-off"):
        parse("faithfulness@5")


def test_several_gold_answers_are_alternatives() -> None:
    record = replace(RECORD, said=(NO, None, YES))
    assert value("answer_recall", record) == 1.0
    assert value("answer_recall", replace(RECORD, said=(NO, None, UNKNOWN))) != value("answer_recall", record)
    assert value("answer_recall", replace(RECORD, said=(YES, None, UNKNOWN))) == 1.0
    assert value("answer_precision", record) == 0.5


@pytest.fixture
def _own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_afterwards(monkeypatch)


@pytest.mark.usefixtures("_own_registry")
def test_a_measure_of_answers_of_ones_own() -> None:
    @sy.measure(inputs=("answers",), needs=("units",), range=(0, 40), absent="zero")
    def brevity(a: JudgedAnswers) -> Floats:
        """Units of the answer that assert something; nobody knows of more than one."""
        count = np.bincount(a.unit_query, minlength=a.n_queries).astype(float)
        return np.where(count > 1, np.nan, count)

    judged = arrays(replace(RECORD, state="abstained"), RECORD, MISSING)
    np.testing.assert_array_equal(parse("brevity")(judged), [np.nan, np.nan, np.nan])
    low, high = parse("brevity").bounds(judged)
    np.testing.assert_array_equal((low, high), [[np.nan, 0, np.nan], [np.nan, 40, np.nan]])
    with pytest.raises(sy.MeasureError, match="bad needs 'gold'; it can need units, context"):

        @sy.measure(inputs=("answers",), needs=("gold",))  # type: ignore[arg-type]
        def bad(a: JudgedAnswers) -> Floats: ...

    with pytest.raises(sy.MeasureError, match="a measure of answers reads nothing else"):

        @sy.measure(inputs=("rankings", "answers"))
        def both(a: JudgedAnswers) -> Floats: ...


def test_an_absent_answer_used_nothing_unless_nobody_knows_whether_there_was_something() -> None:
    gold = {"state": "empty", "answer": "", "units": (), "citations": (), "support": (), "grounded": (), "joint": (),
            "without": (), "correctness": ()}  # fmt: skip
    for reach, want, ends in ((YES, 0.0, (0.0, 0.0)), (UNKNOWN, np.nan, (0.0, 0.0)), (NO, np.nan, (np.nan, np.nan))):
        record = replace(
            RECORD,
            **gold,
            said=(None,) * len(RECORD.gold_units),
            reach=tuple((reach,) * len(row) for row in RECORD.reach),
        )  # type: ignore[arg-type]
        spec = parse("context_utilization")
        np.testing.assert_array_equal(spec(arrays(record)), [want])
        np.testing.assert_array_equal(np.ravel(spec.bounds(arrays(record))), ends)
