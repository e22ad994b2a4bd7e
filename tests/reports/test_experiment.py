"""An analysed experiment in every format: its decision, reasons, checks and days, in both languages."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from steelyard.abtests.experiment import Check, Decision, Experiment, Outcome
from steelyard.base.notes import Note
from steelyard.reports.views.experiment import courses, experiment_sections, forest
from steelyard.reports.views.picture import Mark
from steelyard.reports.views.view import Look
from steelyard.reports.words import read_words
from tests.abtests.experiments import CHECKS, CTR, GUARDRAILS, MRR, START, UNEVEN, experiment
from tests.reports.browser import A4, BEYOND_A4, NO_CHROMIUM, OVERLAPS, Opened
from tests.reports.pages import Page, check_nothing_acts

EN = read_words("en")


def effects_of(own: Experiment) -> Sequence[Mark]:
    """The marks of the picture of the effects."""
    picture = forest(own, EN)
    assert picture is not None
    return picture.marks


@pytest.mark.parametrize(
    ("outcome", "first"),
    [
        ("ship", "Ship treatment. ctr is better: +5.2% (+2.2% to +8.2%). Guardrails hold: latency_ms:p95."),
        ("do_not_ship", "Do not ship treatment. The guardrail latency_ms:p95 is broken: +12.5% (+10.5% to +14.6%), "
         "where 5.0% is allowed."),
        ("inconclusive", "Inconclusive: treatment. 10 of 28 days are there, and this analysis has one look, at the "
         "end. 18 days are left."),
        ("blocked", "No verdict on treatment: the data are not sound. Sample ratio: Arms do not have the "
         "units that their shares promise (p < 0.001): control 10,420, treatment 9,693, where control 10,056, "
         "treatment 10,056 are expected. It comes from browser=firefox: the others agree with the shares."),
    ],
)  # fmt: skip
def test_a_terminal_begins_with_the_decision_and_why(outcome: Outcome, first: str) -> None:
    own = experiment(outcome)
    text = own.text(lang="en")
    assert text.splitlines()[0] == first
    assert len(own.text(lang="zh", width=80).splitlines()) <= 12 + len(own.effects)
    assert own.data()["decisions"][0]["in_words"][0] == own.data()["in_words"]


def test_where_a_blocked_experiment_comes_apart_is_shown_in_place_of_effects() -> None:
    text = experiment("blocked").text(lang="en", width=80)
    assert re.search(r"browser=firefox +2,820 +2,014 +<0.001", text)
    assert re.search(r"the day 10-08 +371 +340 +0.250", text)
    assert "+5.2%" not in text
    page = experiment("blocked").text("markdown", lang="en")
    assert page.index("browser=firefox") < page.index("The checks block every verdict") < page.index("+5.2%")
    assert "better" not in page.replace("is better.", "")
    assert forest(experiment("blocked"), EN) is None


def test_an_effect_without_a_baseline_is_in_the_unit_of_its_metric() -> None:
    bare = {"relative": math.nan, "relative_low": math.nan, "relative_high": math.nan}
    own = experiment(effects=[replace(CTR, **bare), replace(GUARDRAILS[0], **bare)])
    lines = own.text(lang="en").splitlines()
    assert lines[0].startswith("Ship treatment. ctr is better: +0.0157 (+0.0065 to +0.0249).")
    assert "76" in next(line for line in own.text("markdown", lang="en").splitlines() if line.startswith("| latency"))
    assert forest(own, EN) is None


def test_a_metric_without_a_direction_differs_where_that_is_shown() -> None:
    shown, unclear = (replace(MRR, metric="dwell_s", better="either", adjusted=p) for p in (0.009, 0.2))
    text = experiment(effects=[CTR, shown, unclear]).text(lang="en")
    assert [line.split("   ")[-1] for line in text.splitlines() if line.startswith("dwell_s")] == [
        "differs",
        "not shown",
    ]


def test_declarations_that_changed_came_late_or_were_not_registered_are_said() -> None:
    checks = [Check("declaration", "careful", rows=[{"setting": "difference", "then": "2%", "now": "5%"}])]
    changed = {"changed": {"difference": ("2%", "5%")}, "checks": checks, "troubles": ()}
    text = experiment(**changed).text(lang="en")
    assert (
        "Careful: The declaration was registered on 2026-10-02; fingerprint 5f5f5f5f5f5f. 1 setting was changed" in text
    )
    assert experiment(**changed).text("markdown", lang="en").count("| difference | 2% | 5% |") == 1
    late, never = START + timedelta(days=2), None
    for registered, said in ((late, "after the start, on 2026-10-07"), (never, "not registered before the start")):
        assert said in experiment(registered=registered, checks=checks, troubles=()).text(lang="en")
    decision = Decision("treatment", "blocked", [Note("check_blocks", {"check": "declaration"})])
    blocked = experiment(**changed | {"checks": [replace(checks[0], state="blocks")], "decisions": [decision]})
    assert re.search("difference +2% +5%", blocked.text(lang="en"))
    assert "the settings as registered count" in blocked.text(lang="en").splitlines()[0]


def test_an_effect_that_fades_is_said_in_the_form_of_the_effect() -> None:
    values = {"metric": "ctr", "arm": "treatment", "first": 0.0302, "later": 0.0091}
    text = experiment(checks=[Check("novelty", "careful", 0.002, values)], troubles=()).text(lang="en")
    assert "The effect of treatment on ctr changed after the first week: +10.0% then, +3.0% later (p = 0.002)" in text


def test_arms_are_named_in_each_part_of_a_wide_sheet_and_once_where_checks_block_them_all() -> None:
    arms = {"control": 0.4, "treatment": 0.3, "other": 0.3}
    novelty = Check("novelty", "well", 0.2, {"metric": "ctr", "arm": "other", "first": 0.03, "later": 0.02})
    own = experiment(arms=arms, units=[40, 30, 30], checks=[novelty])
    for name in ("days", "segments"):
        section = next(section for section in experiment_sections(own, Look("html", EN)) if section.name == name)
        assert all(sheet.header.index("arm") < sheet.n_labels for sheet in section.sheets)
    assert "The effect of other on ctr is not shown to change" in own.text("markdown", lang="en")
    decisions = [Decision(arm, "blocked", [Note("check_blocks", {"check": "sample_ratio"})]) for arm in list(arms)[1:]]
    blocked = experiment(arms=arms, units=[40, 30, 30], checks=[UNEVEN], decisions=decisions).text(lang="en")
    assert blocked.count("No verdict on") == 2
    assert blocked.count("Sample ratio:") == 1


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_text_of_a_check_begins_with_a_number_which_would_align_it_as_numbers(lang: str) -> None:
    texts = read_words(lang).texts.items()
    states = ("well", "careful", "blocks", "few")
    of_checks = {key: text for key, text in texts if key.startswith("ab.check.") and key.endswith(states)}
    assert [key for key, text in of_checks.items() if text.startswith(("{n", "{share"))] == []
    assert len(of_checks) > 20


def test_how_each_effect_was_computed_is_said() -> None:
    page = experiment().text("markdown", lang="en")
    assert "| percentile, clustered by unit | worth 6,120, 6,093 independent requests |" in page
    sequence = replace(CTR, method="sequence", details={"method": "newcombe", "n_tuned": 10_000})
    page_of_sequence = experiment(effects=[sequence], analysis="always-valid").text("markdown", lang="en")
    assert "confidence sequence, shares (Newcombe, Wilson) | narrowest at 10,000 units" in page_of_sequence
    assert "Intervals and p hold at every look." in page_of_sequence
    assert "| variance × 0.64; correlation with the time before 0.60 |" in page


def test_codes_of_another_version_are_shown_as_data() -> None:
    decision = Decision("treatment", "inconclusive", [Note("moon", {"phase": 0.5})])
    text = experiment(decisions=[decision], checks=[Check("tides", "careful", 0.5)]).text(lang="en")
    assert 'moon {"phase": "0.5"}' in text
    assert 'tides: tides {"p": "= 0.500"}' in text


def test_several_arms_are_named_wherever_they_differ() -> None:
    other = replace(CTR, arm="b", verdict="unclear")
    reasons = [Note("not_shown", {"metric": "ctr", "detectable": 0.0131, "difference": 0.0157})]
    own = experiment(
        arms={"control": 0.4, "treatment": 0.3, "b": 0.3}, units=[10, 8, 8], effects=[CTR, other],
        decisions=[*experiment().decisions, Decision("b", "inconclusive", reasons, days_needed=3)],
    )  # fmt: skip
    lines = own.text(lang="en").splitlines()
    assert lines[2] == (
        "Inconclusive: b. ctr is not shown to change: +5.2% (+2.2% to +8.2%). A difference of 4.3% would be shown "
        "with a power of 80%. About 3 more days would show the difference that matters."
    )
    assert "ctr      b" in own.text(lang="en")
    assert own.data()["in_words"] == "Ship treatment. Inconclusive: b."
    assert [mark.name for mark in effects_of(own)] == ["ctr treatment", "ctr b"]


def test_pictures_have_the_values_of_the_effects() -> None:
    own = experiment()
    marks = effects_of(own)
    assert [mark.kind for mark in marks] == ["better", "plain", "unclear"]
    assert marks[1].limit == pytest.approx(100 * 76.02 / 1520.4)
    (_, daily), (_, running) = courses(own, EN)
    assert [point.value for point in daily.points] == [100 * effect.relative for effect in own.daily]
    assert [point.name for point in running.points[:2]] == ["10-05", "10-06"]
    bare = [replace(effect, relative=math.nan) if effect.day == 3 else effect for effect in own.daily]
    (_, daily), *_ = courses(replace(own, daily=bare), EN)
    assert daily.points[0].value == own.daily[0].difference


def test_hostile_names_stay_texts() -> None:
    evil = '</script><script>alert("1")</script><img src=x onerror=alert(2)>\u202e\n'
    own = experiment(
        name=evil, arms={evil: 0.5, "treatment": 0.5}, effects=[replace(CTR, metric=evil)],
        daily=[replace(CTR, metric=evil, day=0)], changed={evil: (evil, evil)}, excluded={evil: 1},
        checks=[replace(CHECKS[0], code=evil, values={evil: evil}, rows=[{evil: evil}])],
    )  # fmt: skip
    check_nothing_acts(own.text("html", lang="en"))


def test_the_page_has_a_section_a_part_and_folds_what_only_few_read() -> None:
    page = Page(experiment().text("html", lang="en"))
    ids = [own["id"] for tag, own in page.elements if tag == "section"]
    assert ids == ["experiment", "guardrails", "checks", "days", "table", "segments", "methods", "excluded",
                   "declaration"]  # fmt: skip
    figures = [own["data-name"] for tag, own in page.elements if tag == "figure"]
    assert figures == ["effects", "daily-1", "running-1"]
    few = experiment(daily=(), running=(), segments=(), excluded={}, troubles=(), checks=[], effects=[CTR])
    ids = [own["id"] for tag, own in Page(few.text("html", lang="zh")).elements if tag == "section"]
    assert ids == ["experiment", "methods", "declaration"]


def test_programs_get_everything() -> None:
    data = json.loads(experiment("blocked").text("json"))
    assert data["checks"][0]["rows"][0]["segment"] == "browser=firefox"
    assert len(data["daily"]) == len(data["running"]) == 28
    assert data["effects"][0]["details"] == {"variance_kept": 0.64, "rho": 0.6}


@NO_CHROMIUM
@pytest.mark.parametrize(
    ("code", "scheme", "width"), [pytest.param("en", "light", 1440, marks=pytest.mark.slow), ("zh", "dark", 390)]
)
def test_an_experiment_opens_quietly(browser: Any, tmp_path: Path, code: str, scheme: str, width: int) -> None:
    experiment().write(tmp_path / "experiment.html", lang="en")
    tab = Opened(browser, tmp_path / "experiment.html", ready="figure svg", color_scheme=scheme,
                 viewport={"width": width, "height": 900})  # fmt: skip
    tab.speak(code)
    tab.look(f"experiment-{code}-{scheme}-{width}")
    assert tab.page.evaluate(OVERLAPS) == []
    tab.close()


@NO_CHROMIUM
@pytest.mark.slow
def test_an_experiment_fits_the_paper(browser: Any, tmp_path: Path) -> None:
    experiment().write(tmp_path / "experiment.html", lang="en")
    tab = Opened(browser, tmp_path / "experiment.html", ready="figure svg", viewport=A4)
    tab.page.emulate_media(media="print")
    assert tab.page.evaluate(BEYOND_A4) == []
    tab.close()
