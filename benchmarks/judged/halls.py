"""Questions, contexts and answers whose verdicts are known: facts about halls, in English and Chinese."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

PROPERTIES = {
    "en": ("price", "area", "floor", "colour", "capacity", "guide", "entrance", "manager", "opening", "style"),
    "zh": ("票价", "面积", "楼层", "颜色", "容量", "讲解", "入口", "主管", "开放", "风格"),
}
FILLER = {
    "en": "Visitors find lockers and a place for prams beside the cloakroom, which is free. ",
    "zh": "观众可在衣帽间旁的储物柜存放随身物品，婴儿车也可停放。",
}


@dataclass(frozen=True)
class Halls:
    """Questions and outputs, as `sy.judge` takes them."""

    questions: list[dict[str, Any]]
    outputs: list[dict[str, Any]]


def halls(
    n_questions: int,
    *,
    n_chunks: int = 10,
    n_fillers: int = 2,
    cited: bool = False,
    nuggets: bool = False,
    seed: int = 0,
) -> Halls:
    """Answers of five sentences: said by one chunk, by two together, contradicted, said in part, and not found.

    n_fillers   sentences about something else in each chunk
    cited       whether sentences cite chunks, of which some do not support them; every third question then has two
                gold answers
    nuggets     whether questions have nuggets
    Every second question is Chinese.
    """
    rng = random.Random(seed)
    pairs = [_hall(n, rng, n_chunks, n_fillers, cited=cited, nuggets=nuggets) for n in range(n_questions)]
    return Halls([question for question, _ in pairs], [output for _, output in pairs])


def _hall(
    n: int, rng: random.Random, n_chunks: int, n_fillers: int, *, cited: bool, nuggets: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    language = "zh" if n % 2 else "en"
    names = PROPERTIES[language]
    values = {name: f"{rng.randrange(10, 99)}{'元' if language == 'zh' else ' units'}" for name in names}
    places = {name: rng.sample(range(n_chunks), rng.choice([1, 1, 2])) for name in names[:8]}  # The last two: nowhere.
    texts = [list[str]() for _ in range(n_chunks)]
    for name, chunks in places.items():
        for chunk in chunks:
            texts[chunk].append(_sentence(language, n, {name: values[name]}))
    for chunk, sentences in enumerate(texts):
        sentences.append(_sentence(language, n + 1000, {names[chunk % 10]: values[names[0]]}))
        sentences += [FILLER[language].strip()] * n_fillers
    wrong = {names[2]: f"{values[names[2]]}5" if language == "en" else f"1{values[names[2]]}"}
    said = [
        {names[0]: values[names[0]]},
        {names[3]: values[names[3]], names[4]: values[names[4]]},
        wrong,
        {names[5]: values[names[5]], names[8]: values[names[8]]},
        {names[9]: values[names[9]]},
    ]
    blank = "" if language == "zh" else " "
    marks = [_marks(n, rng, n_chunks, [*places.get(next(iter(own)), ()), *places.get([*own][-1], ())]) for own in said]
    answer = blank.join(
        _cited(_sentence(language, n, own), mark if cited else "") for own, mark in zip(said, marks, strict=True)
    )
    golds = [blank.join(_sentence(language, n, {name: values[name]}) for name in names[:3])]
    if cited and n % 3 == 0:
        golds.append(_sentence(language, n, {names[0]: values[names[0]], names[4]: values[names[4]]}))
    question = {
        "qid": f"q{n}", "query": f"What is known of hall {n}?" if language == "en" else f"{n}号厅的情况如何？",
        "answer": golds,
    }  # fmt: skip
    if nuggets:
        question["nuggets"] = [_sentence(language, n, {name: values[name], names[9]: "no"}) for name in names[:2]]
    chunks = [{"id": f"h{n}-{chunk}", "text": blank.join(own)} for chunk, own in enumerate(texts)]
    return question, {"qid": f"q{n}", "retrieved": chunks, "answer": answer}


def _sentence(language: str, hall: int, values: dict[str, str]) -> str:
    if language == "zh":
        return "，".join(f"{hall}号厅的{name}是{value}" for name, value in values.items()) + "。"
    text = " and the ".join(f"{name} of hall {hall} is {value}" for name, value in values.items())
    return f"The {text}."


def _marks(n: int, rng: random.Random, n_chunks: int, holding: Sequence[int]) -> str:
    """Marks of chunks that hold a statement, and of one that may not."""
    return "".join(f"[h{n}-{chunk}]" for chunk in dict.fromkeys([*holding, rng.randrange(n_chunks)]))


def _cited(sentence: str, marks: str) -> str:
    return f"{sentence[:-1]}{marks}{sentence[-1]}" if marks else sentence
