"""A gate's result as JUnit XML, which every CI shows: a suite a system, a case a check."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

from steelyard.gates.checks import OUT_OF_REACH
from steelyard.gates.gating import Gate
from steelyard.report.formats.gating import check_name, heading, reason_text, unseen_notes, wanted_text
from steelyard.report.words import Words

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped."""


def junit(gate: Gate, words: Words) -> str:
    """The whole file; a failed check is a failure, one without enough data an error of type "insufficient data",
    one whose level no ranking reaches an error of type "out of reach".

    What the questions of a check that passed cannot exclude is its output.

    The signature of the scores is a property of each suite.

    There is no time in it, so the same result gives the same bytes.
    """
    suites = ET.Element("testsuites", _counts(gate, gate.systems, _clean(heading(gate, words))))
    for system in gate.systems:
        suite = ET.SubElement(suites, "testsuite", _counts(gate, [system], _clean(system)))
        if gate.signature is not None:
            properties = ET.SubElement(suite, "properties")
            ET.SubElement(properties, "property", {"name": "signature", "value": _clean(str(gate.signature))})
        for check in gate.checks:
            if check.system != system:
                continue
            name = _clean(f"{check_name(check, words)} {wanted_text(check, words)}")
            case = ET.SubElement(suite, "testcase", {"classname": _clean(f"steelyard.{system}"), "name": name})
            if check.outcome != "pass":
                lack = "out of reach" if check.reason in OUT_OF_REACH else "insufficient data"
                tag, kind = ("failure", check.kind) if check.outcome == "fail" else ("error", lack)
                message = _clean(reason_text(check, gate, words))
                ET.SubElement(case, tag, {"type": kind, "message": message}).text = f"{name}: {message}"
            for note in unseen_notes([check], words):
                ET.SubElement(case, "system-out").text = note
    ET.indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suites, encoding="unicode") + "\n"


def _counts(gate: Gate, systems: list[str], name: str) -> dict[str, str]:
    outcomes = [check.outcome for check in gate.checks if check.system in systems]
    return {
        "name": name,
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("fail")),
        "errors": str(outcomes.count("insufficient")),
    }


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("", text)
