"""The first question to each system: which of them answer, before anything is measured."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from steelyard.base.errors import StageError
from steelyard.bench.calling import PatientCaller
from steelyard.bench.load.served import Request
from steelyard.bench.loaded_systems import LoadedSystem

_FIRST = 3
"""So many questions are asked of a system that does not answer the first one, which may be at fault itself."""
_OF_QUESTION = re.compile(r"[0-9]+|'[^']*'")
"""What differs between errors that are alike: counts, ids and texts of questions."""


def first_answers(systems: Sequence[LoadedSystem], timeout_s: float) -> dict[str, Request]:
    """What each system answers to its first question, by its name; it is absent where errors of several ones differ.

    Raises   StageError naming all systems that answer none of the first questions, as with a wrong address, key, model
             or shape, each with its error.
    """
    answers, errors = dict[str, Request](), dict[str, str]()
    for system in systems:
        failures = list[Request]()
        caller = PatientCaller(timeout_s)
        try:
            for number, (query_id, query) in enumerate(islice(system.queries.items(), _FIRST)):
                request = caller.send(system.ask, query_id, query, number=number)
                if request.outcome == "ok":
                    answers[system.name] = request
                    break
                failures.append(request)
                if request.outcome == "timeout":
                    break
        finally:
            caller.close()
        alike = {_OF_QUESTION.sub("", request.error or "") for request in failures}
        if system.name not in answers and len(alike) == 1:
            n = len(failures)
            which = "the first request was not answered" if n == 1 else f"none of the first {n} requests was answered"
            errors[system.name] = f"{system.name}: {which}: {failures[0].error}"
    if len(errors) > 1:
        listed = "; ".join(f"({number}) {error}" for number, error in enumerate(errors.values(), 1))
        raise StageError(f"{len(errors)} of {len(systems)} systems do not answer, and nothing was measured: {listed}")
    if errors:
        raise StageError(next(iter(errors.values())))
    return answers
