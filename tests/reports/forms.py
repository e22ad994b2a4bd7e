"""Forms for the tests: verdicts, grades and quotes, in both languages, and one whose texts all try to become code."""

from __future__ import annotations

from dataclasses import replace

from steelyard.reports.form.form import Form, FormItem, Opinion
from tests.reports.reports import evil

CONTEXT = [
    ("leave#1", "Call your manager before nine when you are ill. " * 3 + "Bring a note on the third day."),
    (
        "hours#2",
        "仓库周一到周五九点开门，晚上八点关门。周末休息，节假日另行通知。\n\n领导值班😀电话见门口。𠮷野先生在二楼。",
    ),
    ("fees#3", "A late return costs two euros a day. No fee is due on Saturdays. " * 30),
]
QUERIES = ["When do I call when I am ill?", "仓库几点关门？", "What does a late return cost?"]
SENTENCES = ["You call your manager before nine.", "仓库晚上九点关门。", "A late return costs three euros a day."]
PLACES = [(0, 0, 47), (1, 0, 19), (2, 0, 37)]
IRRELEVANT = {"en": "irrelevant", "zh": "不相关"}
SCALE = [(0, IRRELEVANT), (1, "related"), (2, "partly answers"), (3, "answers"), (10, "perfect"), (0.5, "")]


def item(n: int) -> FormItem:
    """The n-th of as many items as one likes."""
    kind = n % 3
    answer = f"{SENTENCES[kind]} That is all, number {n}."
    judged = Opinion("supported" if kind == 0 else "not_found", 0.9 - kind / 4, "missing: 九点; numbers: 3")
    return FormItem(f"item{n}", f"{QUERIES[kind]} ({n + 1})", CONTEXT, SENTENCES[kind], answer=answer,
                    span=(0, len(SENTENCES[kind])), candidate=PLACES[kind], judged=judged)  # fmt: skip


def verdicts_form(n: int = 6) -> Form:
    """A form for verdicts."""
    title = {"en": "Library, October", "zh": "图书馆，十月"}
    return Form("verdicts", title, "r1", [item(i) for i in range(n)], judge="lexical")


def adjudication_form() -> Form:
    """Conflicts of two raters."""
    opinions = (Opinion("supported", None, "as plain as day"), Opinion("cannot_say"))
    return replace(verdicts_form(), adjudicating=True, items=[replace(item(i), opinions=opinions) for i in range(3)])


def grades_form() -> Form:
    """One text each, on a scale of its own."""
    items = [FormItem(f"pair{i}", QUERIES[i], [CONTEXT[i]]) for i in range(3)]
    return Form("grades", "相关度", "r2", items, scale=SCALE, instructions="Grade what the text says,\nnot its style.")


def quotes_form() -> Form:
    """All texts for each question."""
    return Form("quotes", "Gold", "r3", [FormItem(f"q{i}", query, CONTEXT) for i, query in enumerate(QUERIES)])


def hostile_form(kind: str = "verdicts") -> Form:
    """Every text that comes from outside tries to become code, is long, or runs the other way."""
    bad = [evil("a"), "</ScRiPt><svg onload=alert(3)>", "<!--<script>", "\ud83d alone \udc00", "مرحبا بالعالم <b>",
           "x" * 100_000, "__proto__", "👩‍👩‍👧‍👦 ${alert(4)} {n}"]  # fmt: skip
    says = Opinion("supported", 0.5, bad[0])
    items = [
        FormItem(f"{text[:30]!a}{i}", text, [(text, text), (bad[0], bad[0])], hypothesis=text, answer=f"{text} {text}",
                 span=(0, len(text)), candidate=(0, 0, min(len(text), 5)), judged=says)
        for i, text in enumerate(bad)
    ]  # fmt: skip
    scale = [(1, bad[0]), (2, bad[1])] if kind == "grades" else []
    return Form(kind, bad[0], bad[0], items, scale=scale, judge="lexical", instructions=bad[0])  # type: ignore[arg-type]
