"""The plain functions say what evaluate says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from tests.hypothesis_profiles import examples
from tests.measures.random_collections import DOCS, GAINS, labels, specs, without_evidence

RANKED = st.permutations(DOCS).flatmap(lambda docs: st.integers(0, len(docs)).map(lambda n: list(docs[:n])))
WITH_K = (
    "precision",
    "recall",
    "f",
    "f1",
    "hit_rate",
    "recall_cap",
    "judged",
    "mrr",
    "map",
    "rbp",
    "dcg",
    "ndcg",
    "err",
)
WITHOUT_K = ("r_precision", "bpref")
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "f": {"beta": [0.5, 2.0]},
    "rbp": {"p": [0.5, 0.95]},
    "dcg": {"gain": ["exp", {1.0: 2.0, 2.0: 7.0}]},
    "ndcg": {"gain": ["exp", {1.0: 2.0, 2.0: 7.0}], "ideal": ["retrieved"]},
    "err": {"max_gain": [5.0]},
}


def plain(name: str) -> Callable[..., float]:
    return getattr(sy.plain, name)  # type: ignore[no-any-return]


def evaluated(measure: object, ranked: list[str], gains: object) -> float:
    """The value of one question; 0 where it has no gold, of which there is then no mean."""
    scores = sy.evaluate({"q": gains}, {"q": ranked}, measure)  # type: ignore[arg-type]
    return 0.0 if scores.without_gold else scores.values.item()


def text(name: str, options: dict[str, Any], k: int | None) -> str:
    shown = {key: str(value).replace(" ", "") for key, value in options.items()}
    params = ",".join(f"{key}={value}" for key, value in shown.items())
    return name + (f"({params})" if params else "") + (f"@{k}" if k else "")


@pytest.mark.parametrize("name", WITH_K + WITHOUT_K)
@examples(40)
@given(ranked=RANKED, gains=labels(GAINS), data=st.data())
def test_equals_evaluate(name: str, ranked: list[str], gains: dict[str, float], data: st.DataObject) -> None:
    choices = dict(OPTIONS.get(name, {}))
    if "min_gain" in sy.parse(name).definition.parameters:
        choices["min_gain"] = [0.0, 0.5, 2.0]
    options = {key: data.draw(st.sampled_from(values)) for key, values in choices.items() if data.draw(st.booleans())}
    k = data.draw(st.none() | st.integers(1, 15)) if name in WITH_K else None
    given_k = {"k": k} if name in WITH_K else {}
    assert plain(name)(ranked, gains, **given_k, **options) == evaluated(text(name, options, k), ranked, gains)


@pytest.mark.parametrize("definition", without_evidence(), ids=lambda each: each.name)
@examples(20)
@given(ranked=RANKED, gains=labels(GAINS), data=st.data())
def test_score_equals_evaluate(
    definition: Any, ranked: list[str], gains: dict[str, float], data: st.DataObject
) -> None:
    spec = data.draw(specs(definition))
    assert (
        sy.plain.score(spec, ranked, gains)
        == sy.plain.score(str(spec), ranked, gains)
        == evaluated(spec, ranked, gains)
    )


def test_every_plain_function_is_tested() -> None:
    from tests.test_plain_answers import OF_CONTEXTS, OF_GOLD

    own = {name for name, value in vars(sy.plain).items() if getattr(value, "__module__", "") == sy.plain.__name__}
    public = {name for name in own if not name.startswith("_")}
    assert public == {*WITH_K, *WITHOUT_K, "score", *OF_CONTEXTS, *OF_GOLD, "score_answer"}


@pytest.mark.parametrize("name", WITH_K + WITHOUT_K)
def test_any_collection_of_ids_will_do(name: str) -> None:
    want = plain(name)(["b", "a", "c"], {"a": 1, "z": 1})
    for relevant in ({"a", "z"}, ["a", "z"], ("a", "z"), frozenset("az"), {"a": 1.0, "z": 1.0}.keys()):
        assert plain(name)(("b", "a", "c"), relevant) == want
    assert plain(name)([2, 1, 3], {1, 26}) == want
    assert plain(name)(iter(["b", "a", "c"]), (id for id in "az")) == want
    assert plain(name)([], set()) == 0
    assert type(want) is float


@pytest.mark.parametrize("name", WITH_K + WITHOUT_K)
def test_whole_numbers_and_their_texts_are_the_same_ids(name: str) -> None:
    """As in evaluate."""
    want = plain(name)(["1", "2", "3"], {"3": 2, "1": 1, "9": 0})
    for ranked, gains in (([1, 2, 3], {"3": 2, "1": 1, "9": 0}), (np.array([1, 2, 3]), {3: 2, 1: 1.0, 9: 0})):
        assert plain(name)(ranked, gains) == want
    assert sy.plain.precision([1, 2], {"1"}, k=1) == 1


@pytest.mark.parametrize("name", WITH_K + WITHOUT_K)
class TestRefuses:
    def test_duplicates(self, name: str) -> None:
        with pytest.raises(sy.DuplicateError, match="'a' is retrieved twice"):
            plain(name)(["a", "b", "a"], {"a": 1})

    def test_texts(self, name: str) -> None:
        for arguments in (("abc", {"a"}), (["a"], "abc")):
            with pytest.raises(sy.InputError, match="a text was passed where a list of ids is expected"):
                plain(name)(*arguments)

    def test_what_is_no_list_of_ids(self, name: str) -> None:
        for arguments in ((None, {"a"}), (["a"], None), (["a"], 3), (object(), {"a"})):
            with pytest.raises(sy.InputError, match="is no list of ids"):
                plain(name)(*arguments)

    def test_ids_that_evaluate_refuses(self, name: str) -> None:
        for id in (1.0, True, None, ["a"]):
            for arguments in (([id], {"a"}), (["a"], [id])):
                with pytest.raises(sy.InputError, match=r"an id is .* ids are text or whole numbers"):
                    plain(name)(*arguments)
                with pytest.raises(sy.InputError, match="ids are text or whole numbers"):
                    sy.evaluate({"q": arguments[1]}, {"q": arguments[0]}, "map")

    def test_an_id_as_text_and_as_a_number(self, name: str) -> None:
        with pytest.raises(sy.DuplicateError, match="'1' is retrieved twice"):
            plain(name)([1, "1"], {"1"})
        with pytest.raises(sy.DuplicateError, match="an id is there as text and as a number"):
            plain(name)(["1"], {1: 1, "1": 2})

    def test_gains_that_are_no_numbers(self, name: str) -> None:
        for gain in (float("nan"), float("inf"), -float("inf"), "1", None):
            with pytest.raises(sy.InputError, match="not a finite number"):
                plain(name)(["a"], {"a": gain, "b": 1})


@pytest.mark.parametrize("name", WITH_K)
@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_k_is_a_whole_number_from_one(name: str, k: float) -> None:
    with pytest.raises(sy.MeasureError, match="k must be a whole number from 1"):
        plain(name)(["a"], {"a"}, k=k)


# What a spec refuses, the function must refuse as well.
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rbp", {"p": 1.5}),
        ("rbp", {"p": 0}),
        ("f", {"beta": -1}),
        ("precision", {"min_gain": float("nan")}),
        ("ndcg", {"gain": "cubic"}),
        ("ndcg", {"ideal": "perfect"}),
        ("dcg", {"gain": {1: float("nan")}}),
        ("err", {"max_gain": -1}),
    ],
)
def test_impossible_options(name: str, options: dict[str, Any]) -> None:
    with pytest.raises((sy.InputError, sy.MeasureError)):
        plain(name)(["a"], {"a": 1}, **options)


def test_arguments_are_left_alone() -> None:
    ranked, gains = ["b", "a"], {"a": 1.0, "b": -1.0}
    for name in WITH_K + WITHOUT_K:
        plain(name)(ranked, gains)
    assert (ranked, gains) == (["b", "a"], {"a": 1.0, "b": -1.0})
