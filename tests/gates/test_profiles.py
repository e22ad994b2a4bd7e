import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.base.errors import InputError
from steelyard.gates.profiles import Profile, profiles
from steelyard.measures import registry
from tests.hypothesis_profiles import examples

RATINGS = ("fair", "good", "excellent")
PRODUCTION = ("minimum", "good", "excellent")
TARGET = ("target",)
RERANKER = ("target", "excellent")
SHIPPED = {
    "ratings": (RATINGS, {"precision@k": (0.5, 0.7, 0.85), "recall@k": (0.6, 0.75, 0.85),
                          "evidence_recall@k": (0.6, 0.75, 0.85), "span_recall@k": (0.6, 0.75, 0.85),
                          "mrr@k": (0.4, 0.6, 0.8),
                          "ndcg@k": (0.5, 0.7, 0.85)}, ()),
    "production": (PRODUCTION, {"recall@5": (0.70, 0.80, 0.85), "precision@5": (0.60, 0.75, 0.80),
                                "mrr@k": (0.50, 0.70, 0.80)}, ("recall@5", "precision@5", "mrr")),
    "faq": (TARGET, {"mrr@k": (0.85,), "hit_rate@3": (0.90,), "precision@3": (0.80,)},
            ("mrr", "hit_rate@3", "precision@3")),
    "document-qa": (TARGET, {"recall@5": (0.80,), "precision@5": (0.75,), "ndcg@5": (0.78,)},
                    ("recall@5", "ndcg@5", "precision@5")),
    "academic": (TARGET, {"ndcg@10": (0.75,), "recall@10": (0.85,), "mrr@k": (0.70,)}, ("ndcg@10", "mrr", "recall@10")),
    "enterprise": (TARGET, {"recall@5": (0.85,), "precision@5": (0.80,), "ndcg@5": (0.82,)},
                   ("recall@5", "precision@5", "ndcg@5")),
    "reranker": (RERANKER, {"ndcg@10": (0.85, 0.90), "mrr@k": (0.80, 0.90), "recall@5": (0.75, 0.85),
                            "precision@5": (0.80, 0.90), "latency_ms:p95": (500, 300),
                            "cost_usd_per_million_tokens": (0.05, 0.03)},
                 ("ndcg@10", "mrr", "recall@5", "precision@5")),
    "monitoring": ((), {}, ("hit_rate@5", "mrr")),
}  # fmt: skip
"""What practice asks for, by profile: names of levels, levels, recommended measures."""


def test_these_profiles_are_shipped() -> None:
    assert profiles() == sorted(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profiles_hold_what_practice_asks_for(name: str) -> None:
    levels, standards, recommend = SHIPPED[name]
    profile = Profile.read(name)
    assert (profile.name, profile.levels) == (name, levels)
    assert {key: tuple(each.levels.values()) for key, each in profile.standards.items()} == standards
    assert all(tuple(each.levels) == levels for each in profile.standards.values())
    assert tuple(map(str, profile.recommend)) == recommend
    lower = {key for key, each in profile.standards.items() if each.better == "lower"}
    assert lower == {key for key, each in profile.standards.items() if each.handed_in}
    assert lower == ({"latency_ms:p95", "cost_usd_per_million_tokens"} if name == "reranker" else set())


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_profiles_speak_both_languages_and_tell_that_levels_are_conventions(name: str) -> None:
    profile = Profile.read(name)
    texts = [profile.title, profile.note, *(each.advice for each in profile.standards.values())]
    assert all(set(text) == {"en", "zh"} for text in texts)
    assert all(re.search(r"[\u4e00-\u9fff]", text["zh"]) and text["en"].isascii() for text in texts)
    if profile.levels:
        assert "convention" in profile.note["en"].lower()
        assert "约定" in profile.note["zh"]


def test_the_reranker_is_worth_having_at_fifteen_per_cent() -> None:
    relative = Profile.read("reranker").relative
    assert relative is not None
    assert (str(relative.measure), relative.least) == ("ndcg@10", 0.15)
    assert Profile.read("reranker").standards["latency_ms:p95"].handed_in


def test_measures_to_weigh_are_those_recommended_else_those_with_a_k_of_their_own(tmp_path: Path) -> None:
    assert Profile.read("academic").measures == ["ndcg@10", "mrr", "recall@10"]
    assert Profile.read("ratings").measures == []
    profile = read(tmp_path, OWN.replace("recommend", "#"))
    assert profile.measures == ["recall@5"]


OWN = """
name = "mine"
below = "no"
levels = ["ok", "fine"]
recommend = ["mrr", "P_5"]

[measures."recall@5"]
better = "higher"
levels = { ok = 0.5, fine = 0.9 }
advice = "one text for both"

[measures."mrr@k"]
levels = { fine = 0.8 }

[measures.memory_gb]
given = true
better = "lower"
levels.ok = 16
"""


def read(folder: Path, text: str) -> Profile:
    (path := folder / "mine.toml").write_text(text, encoding="utf-8")
    return Profile.read(path)


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    profile = read(tmp_path, OWN)
    assert profile.name == "mine"
    assert profile == Profile.read(str(tmp_path / "mine.toml"))
    assert profile.standards["recall@5"].advice == {"en": "one text for both", "zh": "one text for both"}
    assert profile.standards["mrr@k"].levels == {"fine": 0.8}
    assert profile.standards["memory_gb"].levels == {"ok": 16.0}
    assert profile.measures == ["mrr", "precision@5"]
    assert read(tmp_path, "recommend = ['map']").name == "mine"
    assert read(tmp_path, "\ufeff" + OWN) == profile


@pytest.mark.parametrize(
    ("measure", "key"),
    [
        ("recall@5", "recall@5"), ("recall(min_gain=2)@5", "recall@5"), ("recall@10", None), ("recall", None),
        ("mrr", "mrr@k"), ("mrr@10", "mrr@k"), ("mrr(min_gain=3)@10", "mrr@k"), ("mrr(pool=judged)", None),
        ("recall(pool=judged)@5", None), ("map", None),
    ],
)  # fmt: skip
def test_what_a_measure_is_held_against(measure: str, key: str | None, tmp_path: Path) -> None:
    standard = read(tmp_path, OWN).standard_of(sy.parse(measure))
    assert (standard and standard.measure) == key


def test_a_key_with_parameters_counts_before_one_without_and_a_k_before_any(tmp_path: Path) -> None:
    tables = "".join(
        f'[measures."{key}"]\nlevels = {{ ok = 0.5 }}\n'
        for key in ("ndcg@k", "ndcg@10", "ndcg(gain=exp)@k", "recall(min_gain=2)@5", "recall@5")
    )
    profile = read(tmp_path, f'levels = ["ok"]\n{tables}')
    names = ("ndcg@5", "ndcg", "ndcg@10", "ndcg_burges@10", "recall(min_gain=2)@5", "recall(min_gain=3)@5")
    held = [profile.standard_of(sy.parse(name)) for name in names]
    assert [standard and standard.measure for standard in held] == [
        "ndcg@k", "ndcg@k", "ndcg@10", "ndcg(gain=exp)@k", "recall(min_gain=2)@5", "recall@5",
    ]  # fmt: skip


def test_what_is_asked_for_and_not_measured() -> None:
    production = Profile.read("production")
    assert list(production.unmeasured([])) == ["recall@5", "precision@5", "mrr"]
    assert list(production.unmeasured([sy.parse("mrr@10"), sy.parse("recall@5")])) == ["precision@5"]
    assert list(Profile.read("ratings").unmeasured([])) == []
    assert list(Profile.read("reranker").unmeasured([sy.parse("mrr")])) == ["ndcg@10", "recall@5", "precision@5"]


BAD = {
    "broken": ('levels = ["ok"\n[measures', r"line 2: is not TOML"),
    "unknown key": ('recommend = ["map"]\nlevles = ["ok"]', r"line 2: there is no setting 'levles'; did you"),
    "unknown key of a measure": (OWN.replace("better =", "beter =", 1), r"line 8: .* has no setting 'beter'; did you"),
    "unknown level": (OWN.replace("ok = 0.5", "okk = 0.5"), r"line 9: there is no level 'okk'; did you mean ok\?"),
    "unknown measure": (OWN.replace("recall@5", "recal@5"), r"line 7: no measure is called 'recal'; did you mean"),
    "unknown measure at any k": (OWN.replace("mrr@k", "mrrr@k"), r"line 12: no measure is called 'mrrr'"),
    "unknown number": (OWN.replace("given = true\n", ""), r"line 15: no measure is called 'memory_gb'.*given = true"),
    "unknown recommended": (OWN.replace("P_5", "Q_5"), r"line 5: no measure is called"),
    "order": (OWN.replace("fine = 0.9", "fine = 0.4"), r"line 9: levels are out of order: fine is 0.4, expected above"),
    "equal": (OWN.replace("fine = 0.9", "fine = 0.5"), r"line 9: levels are out of order"),
    "order where lower is better": (
        OWN.replace("levels.ok = 16", "levels.ok = 16\nlevels.fine = 20"),
        r"line 19: .*expected below ok",
    ),
    "a text as level": (OWN.replace("ok = 0.5", "ok = '0.5'"), r"line 9: \S+\.ok must be a number, not '0.5'"),
    "true as level": (OWN.replace("ok = 0.5", "ok = true"), r"line 9: .*\.levels\.ok must be a number, not True"),
    "nan as level": (OWN.replace("ok = 0.5", "ok = nan"), r"line 9: .*\.levels\.ok must be a number, not nan"),
    "no levels": (OWN.replace("levels = { fine = 0.8 }", ""), r"line 12: .*\.levels is missing; expected a table"),
    "levels without names": (OWN.replace('levels = ["ok", "fine"]', ""), r"line 9: there are no names of levels"),
    "direction": (OWN.replace('"lower"', '"less"'), r"line 17: \S+\.better must be 'higher' or 'lower', not 'less'"),
    "given": (OWN.replace("given = true", "given = 1"), r"line 16: measures\.memory_gb\.given must be true or false"),
    "name of a number": (OWN.replace("memory_gb", '"memory gb"'), r"line 15: 'memory gb' names no number; use letters"),
    "language": (OWN.replace('"one text for both"', '{ de = "x" }'), r"line 10: \[.*\.advice\] has no setting 'de'"),
    "advice": (OWN.replace('"one text for both"', "3"), r"line 10: .*\.advice must be a text, or { en = "),
    "below is a level": (OWN.replace('below = "no"', 'below = "ok"'), r"line 3: below is called 'ok'"),
    "below": (OWN.replace('below = "no"', "below = 3"), r"line 3: below must be a name"),
    "name": (OWN.replace('name = "mine"', "name = 3"), r"line 2: name must be a text"),
    "levels twice": (OWN.replace('"fine"]', '"ok"]'), r"line 4: levels holds a name twice"),
    "levels no list": (OWN.replace('["ok", "fine"]', '"ok"'), r"line 4: levels must be a list"),
    "the same measure twice": (OWN + '[measures."R_5"]\nlevels.ok = 0.1\n', r"line 19: R_5 is recall@5, which has"),
    "measures no table": ('recommend = ["map"]\nmeasures = 3', r"line 2: measures must be a table"),
    "measure no table": ("measures.map = 3", r"line 1: measures\.map must be a table"),
    "relative": (OWN + '[relative]\nmeasure = "map"\nleast = 0\n', r"line 21: relative\.least must be a share above 0"),
    "relative measure": (OWN + '[relative]\nmeasure = "mapp"\nleast = 0.1\n', r"line 20: no measure is called 'mapp'"),
    "relative percentile": (
        OWN + '[relative]\nmeasure = "ndcg@10:p10"\nleast = 0.1\n',
        r"line 20: ndcg@10:p10 is a percentile, and relative changes are of arithmetic means",
    ),
    "relative gmap": (OWN + '[relative]\nmeasure = "gm_map"\nleast = 0.1\n', r"line 20: gm_map is a geometric mean"),
    "relative key": (OWN + '[relative]\nmeasure = "map"\nmost = 0.1\n', r"line 21: \[relative\] has no setting 'most'"),
    "relative no table": ("relative = 3\n" + OWN, r"line 1: relative must be a table"),
    "empty levels": (OWN.replace("levels = { fine = 0.8 }", "levels = {}"), r"line 13: levels is empty"),
    "half a text": (OWN.replace('"one text for both"', "{ en = 3 }"), r"line 10: .*\.advice\.en must be a text, not 3"),
    "empty": ("", r"names no measure"),
}


@pytest.mark.parametrize("label", BAD)
def test_bad_profiles_are_told_with_file_and_line(label: str, tmp_path: Path) -> None:
    text, told = BAD[label]
    with pytest.raises(InputError, match=rf"mine\.toml.*{told}"):
        read(tmp_path, text)


def test_unknown_profiles_are_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"no profile is called 'prodution', and there is no such file; did you mean production\?"
    ):
        Profile.read("prodution")
    with pytest.raises(InputError, match="there are academic, document-qa"):
        Profile.read("zzz")
    with pytest.raises(InputError, match="there is no such file"):
        Profile.read(tmp_path / "none.toml")
    with pytest.raises(InputError, match="cannot be read"):
        Profile.read(tmp_path)
    (tmp_path / "latin.toml").write_bytes('name = "é"'.encode("latin1"))
    with pytest.raises(InputError, match="not UTF-8"):
        Profile.read(tmp_path / "latin.toml")


def test_a_shipped_name_counts_before_a_file_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "faq").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    assert Profile.read("faq").name == "faq"
    assert Profile.read("./faq").name == "mine"


@examples(60)
@given(data=st.data())
def test_every_measure_at_any_k_matches_its_own_pattern(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    definition = data.draw(st.sampled_from([each for each in registry.definitions() if each.cutoff == "k"]))
    k = data.draw(st.integers(1, 1000) if definition.cutoff_required else st.none() | st.integers(1, 1000))
    text = f'levels = ["ok"]\n[measures."{definition.name}@k"]\nlevels.ok = 0.5\n'
    profile = read(tmp_path_factory.getbasetemp(), text)
    measure = sy.parse(definition.name + (f"@{k}" if k else ""))
    assert profile.standard_of(measure) is profile.standards[f"{definition.name}@k"]
