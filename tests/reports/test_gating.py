import itertools
import math
import re
from dataclasses import replace
from typing import get_args

import numpy as np
import pytest

from steelyard.gates.checks import SHARES, Check, CheckReason
from steelyard.gates.gating import EXIT_CODES, Gate, gate
from steelyard.gates.past import BaselineEntry
from steelyard.gates.profiles import Profile
from steelyard.reports.views.gate import gate_sheets, heading, reason_text, wanted_text
from steelyard.reports.words import Words, read_words
from tests.gates.stated import scores_of, stated

EN, ZH = read_words("en"), read_words("zh")
FINE = (0.9, 0.88, 0.92)
PARTLY = {"recall@5": (0.6, 0.5, 0.65), "mrr@10": (0.5, 0.4, 0.6), "precision@5": FINE}
REASONS = {
    "level": (
        "reached",
        "missed",
        "spans",
        "out_of_reach",
        "beyond_candidates",
        "no_interval",
        "few_questions",
        "not_measured",
        "no_gold",
    ),
    "baseline": (
        "not_worse",
        "identical",
        "worse",
        "lost",
        "undecided",
        "no_interval",
        "few_questions",
        "not_measured",
        "no_gold",
    ),
    "best": ("not_worse", "worse", "lost", "undecided"),
    "relative": ("reached", "missed", "spans", "no_ratio", "no_interval", "few_questions", "not_measured", "no_gold"),
    "share": ("within", "exceeded", "not_measured"),
    "judge": ("reached", "missed", "spans", "few_labels", "undefined", "no_interval"),
    "people": ("not_worse", "worse", "undecided", "few_labels", "no_interval", "no_second_rater"),
    "self_test": ("within", "exceeded", "few_trials"),
    "load": ("held", "errors", "overloaded", "backlog", "slow", "late", "limit_spanned", "no_upper_end"),
    "sustained": ("reached", "missed", "spans"),
}
NAMES = {"share": SHARES, "level": ("mrr", "latency_ms:p95"), "judge": ("kappa", "sensitivity", "specificity"),
         "self_test": ("injection",)}  # fmt: skip
"""What checks of a kind may be called; mrr elsewhere."""
MAY_NEED = {("baseline", "undecided"), ("best", "undecided"), ("people", "undecided"), ("judge", "spans")}
ENTRY = BaselineEntry("0a1b2c3d4e", "v1.2", is_accepted=True, n_again=2)


def every_check() -> list[Check]:
    made = []
    for kind, reasons in REASONS.items():
        for name, reason, n in itertools.product(NAMES.get(kind, ("mrr",)), reasons, (0, 1, 12)):
            if name == "latency_ms:p95" and n == 0 and reason not in ("reached", "missed", "not_measured"):
                continue  # a number that is handed in has no interval and no questions
            if name == "latency_ms:p95" and reason in ("out_of_reach", "beyond_candidates"):
                continue  # no truth bounds it
            high = math.inf if n == 12 and kind == "level" else 0.6
            level = "target" if kind == "level" else None
            left_out = (3, 4) if kind in ("level", "baseline", "relative") else (0, 0)
            one = Check("系统<b>", name, kind, reason, value=0.5, low=0.4, high=high, limit=0.5, n=n, level=level,
                        left_out=left_out, detectable=0.02)  # fmt: skip
            made += [one, replace(one, needed=99)] if (kind, reason) in MAY_NEED else [one]
            if kind in ("baseline", "best"):
                made.append(replace(one, alarm=0.0025, luck=0.01, needed_runs=3 if reason == "undecided" else None))
    return made


def of(checks: list[Check], **changes: object) -> Gate:
    told = {
        "profile": Profile.read("reranker"), "level": "target", "baselines": {"系统<b>": "old"}, "margin": 0.01,
        "min_questions": 10, "alpha": 0.05, "checks": tuple(checks),
    }  # fmt: skip
    return Gate(**(told | changes))  # type: ignore[arg-type]


def test_these_are_all_reasons() -> None:
    assert {reason for reasons in REASONS.values() for reason in reasons} == set(get_args(CheckReason))


@pytest.mark.parametrize("lang", [EN, ZH], ids=["en", "zh"])
def test_every_check_has_words(lang: Words) -> None:
    found = of(every_check(), other_truth=True, not_judged=("ndcg@10", 0.15), alarms=0.005, entry=ENTRY)
    for check in found.checks:
        assert reason_text(check, found, lang)
        assert "{" not in reason_text(check, found, lang) + wanted_text(check, lang)
    for text in (
        found.text(lang=lang.code, explain=True),
        found.text(lang=lang.code, explain=True, width=80),
        found.text(lang=lang.code),
        found.text("markdown", lang=lang.code),
    ):
        assert "nan" not in text
        assert "None" not in text


def test_no_english_is_left_in_chinese() -> None:
    found = of(every_check(), other_truth=True, not_judged=("ndcg@10", 0.15), alarms=0.005, entry=ENTRY)
    for text in (found.text(lang="zh"), found.text("markdown", lang="zh")):
        plain = re.sub(
            r"`(?:evaluate|steelyard) [^`]*`|"
            r"[a-z]+@\d+|latency_ms:p95|mrr|r_precision|recall_cap|ndcg|--number|NAME|-m|injection|Steelyard|reranker|old|gt|lt|\bID\b"
            r"|b>",
            "",
            text.replace("\\_", "_"),
        )
        plain = plain.replace("&lt;", "")
        assert not re.search(r"[A-Za-z]{2,}", plain), re.findall(r".*[A-Za-z]{2,}.*", plain)


def test_the_terminal_says_outcomes_in_words_and_why() -> None:
    text = gate(stated(PARTLY), profile="production").text(lang="en", explain=True, width=80)
    assert "profile production (RAG in production), level minimum" in text
    assert re.search(r"recall@5 +FAIL +0\.6000 +0\.500–0\.650 +≥ 0\.7 \(minimum\)", text)
    assert re.search(r"precision@5 +pass ", text)
    assert "recall@5: the whole interval misses 0.7.\n" in text
    assert "mrr@10: the interval spans 0.5; more questions would narrow it.\n" in text
    assert text.endswith("a: FAIL (1 check passed, 1 failed, 1 lacks data)\n")
    assert max(map(len, text.splitlines())) <= 80


def test_chinese_reads_as_chinese() -> None:
    text = gate(stated(PARTLY), profile="production").text(lang="zh", explain=True)
    assert "按评级标准 production（生产环境 RAG），等级“最低要求”" in text
    assert "recall@5：整个置信区间都不满足 0.7 的要求。" in text
    assert text.endswith("a：未通过（通过 1 项、未通过 1 项、数据不足 1 项）\n")


def test_the_markdown_is_a_table_with_reasons_readable_without_colour() -> None:
    text = gate(stated(PARTLY), profile="production").text("markdown", lang="en")
    assert text.startswith("## Steelyard gate: FAIL\n")
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    assert rows[0] == ["check", "outcome", "value", "interval", "wanted", "reason"]
    assert ["recall@5", "**FAIL**", "0.6000", "0.500–0.650", "≥ 0.7 (minimum)", "the whole interval misses 0.7"] in rows
    assert {len(row) for row in rows} == {6}


def test_names_cannot_break_out_of_the_markdown() -> None:
    scores = scores_of(np.full((1, 1, 30), 0.9), ["mrr"], systems=["a|b\n<script>*x*`"])
    text = gate(scores, profile="ratings").text("markdown", lang="en")
    assert "<script>" not in text
    assert "\\<script\\>\\*x\\*\\`" in text


def test_bounds_differences_and_gains_in_words() -> None:
    base = np.linspace(0.4, 0.6, 40)
    scores = scores_of([base, base * 1.3 + np.tile([0.01, -0.01], 20)], ["ndcg@10"], systems=["none", "new"])
    known = {"latency_ms:p95": 320.5, "cost_usd_per_million_tokens": 0.1}
    found = gate(scores, profile="reranker", baseline="none", margin=0.02, numbers=known, max_failed=0.05)
    rows = {row[0]: row[1:] for row in gate_sheets(found, EN)[0].rows}
    assert rows["latency_ms:p95"] == ["pass", "320.5", "–", "≤ 500 (target)"]
    assert rows["cost_usd_per_million_tokens"][:2] == ["FAIL", "0.1"]
    assert rows["ndcg@10, difference"][0] == "pass"
    assert rows["ndcg@10, difference"][3] == "> −0.02"
    assert rows["ndcg@10, change"][1] == "+30.0%"
    assert rows["ndcg@10, change"][3] == "≥ 15%"
    assert rows["failed questions"] == ["pass", "0%", "–", "≤ 5%"]
    assert heading(found, EN).endswith("baseline none, margin 0.02")
    assert "one-sided limits at 0.05" in found.text(lang="en", explain=True)


def test_equal_values_without_a_range_show_nothing_in_words() -> None:
    equal = Check("a", "latency_ms", "baseline", "undecided", value=0.0, limit=5.0, n=12)
    assert reason_text(equal, of([equal]), EN) == "all differences are equal: there is no spread to test against"
    assert reason_text(equal, of([equal]), ZH) == "各问题的差值全部相等，没有离散程度可供检验"
    same = replace(equal, reason="identical")
    assert (same.outcome, reason_text(same, of([same]), EN)) == ("pass", "both gave the same lists")


def test_what_has_no_partner_and_what_is_not_judged_is_told() -> None:
    new = scores_of(np.full((1, 2, 30), 0.5), ["mrr", "map"], systems=["new"])
    old = scores_of(
        np.full((1, 2, 20), 0.5),
        ["mrr", "map"],
        systems=["old"],
        query_ids=[f"q{i}" for i in range(15, 35)],
        truth="sha256:2",
    )
    text = gate(new, baseline=old, margin=0.1).text(lang="en", explain=True)
    assert "mrr, map: compared on 15 questions; 15 of new and 5 of the baseline have no partner" in text
    assert "truths that differ" in text
    scores = stated({"ndcg@10": FINE, "mrr": FINE, "recall@5": FINE, "precision@5": FINE})
    assert "worth having when ndcg@10 is at least 15% better" in gate(scores, profile="reranker").text(
        lang="en", explain=True
    )


def test_a_table_for_each_system_and_a_line_for_each() -> None:
    scores = scores_of([[[0.9] * 30], [[0.1] * 30]], ["mrr"], systems=["x", "y"])
    found = gate(scores, profile="ratings")
    assert [sheet.header[0] for sheet in gate_sheets(found, EN)] == ["x", "y"]
    assert found.text(lang="en", explain=True).splitlines()[-2:] == ["x: pass (1 check passed)", "y: FAIL (1 failed)"]
    assert set(EXIT_CODES) == {"pass", "fail", "insufficient"}


def test_a_users_own_level_stays_as_it_is() -> None:
    check = Check("a", "mrr", "level", "reached", value=0.9, low=0.9, high=0.9, limit=0.5, n=30, level="Güteklasse A")
    assert wanted_text(check, EN) == "≥ 0.5 (Güteklasse A)"
    assert wanted_text(check, ZH) == "≥ 0.5（Güteklasse A）"


def test_a_terminal_says_the_outcome_first_and_what_failed_before_what_lacks_data() -> None:
    verdict = gate(stated(PARTLY), profile="production")
    first, judged_by, _, head, *_ = lines = verdict.text(lang="en", width=80).splitlines()
    assert first == "a: FAIL (1 check passed, 1 failed, 1 lacks data)"
    assert judged_by == "profile production (RAG in production), level minimum"
    assert head.split() == ["a", "outcome", "value", "interval", "wanted"]
    careful = " ".join(lines[lines.index(next(line for line in lines if line.startswith("Careful: "))) :])
    assert careful.startswith("Careful: recall@5: the whole interval misses 0.7. mrr@10: the interval spans 0.5; ")
    assert "Signature" not in verdict.text(lang="en")


def test_a_terminal_names_the_systems_of_a_reason() -> None:
    scores = scores_of([[[0.9] * 30], [[0.1] * 30], [[0.1] * 30]], ["mrr"], systems=["x", "y", "z"])
    text = gate(scores, profile="ratings").text(lang="en")
    assert text.splitlines()[:3] == ["x: pass (1 check passed)", "y: FAIL (1 failed)", "z: FAIL (1 failed)"]
    assert "Careful: y, z: mrr: the whole interval misses " in text
