"""`steelyard trec-eval`: the trec_eval program's arguments and output."""

from __future__ import annotations

import getopt
import sys

from steelyard.base.errors import InputError, MeasureError
from steelyard.cli.translation import language_of, translator

_LONG = ["help", "version", "query_eval_wanted", "measure=", "complete_rel_info_wanted", "level_for_rel=", "nosummary",
         "Debug_level=", "Judged_docs_only", "Number_docs_in_coll=", "Max_retrieved_per_topic=", "Rel_info_format=",
         "Results_format=", "Output_old_results_format=", "Zscore="]  # fmt: skip
_SHORT_OF = {f"--{name.rstrip('=')}": f"-{name[0]}" for name in _LONG}
_REFUSED = {"-Z": "z-scores are not supported", "-D": "debug output is not supported"}
_USAGE = "usage: steelyard trec-eval [-q] [-c] [-n] [-J] [-l N] [-M N] [-N N] [-m MEASURE[.PARAMS]] ... QRELS RUN"


def trec_eval(arguments: list[str]) -> None:
    """Print what trec_eval prints for these arguments."""
    try:
        pairs, files = getopt.gnu_getopt(arguments, "hvqm:cl:nD:JN:M:R:T:oZ:", _LONG)
    except getopt.GetoptError as error:
        raise InputError(f"{error}; {_USAGE}") from None
    say = translator(language_of(sys.argv[1:]))
    options = [(_SHORT_OF.get(name, name), value) for name, value in pairs]
    values = dict(options)
    for name, reason in _REFUSED.items():
        if name in values:
            raise InputError(f"{name}: {reason}")
    if values.get("-R", "qrels") != "qrels" or values.get("-T", "trec_results") != "trec_results":
        raise InputError("only -R qrels and -T trec_results are supported")
    if "-h" in values or "-v" in values:
        from steelyard._version import __version__

        print(say(_USAGE) if "-h" in values else f"steelyard {__version__}, output of trec_eval 10.0")
        return
    if len(files) != 2:
        raise InputError(f"expected two files, QRELS and RUN, but got {len(files)}; {_USAGE}")
    from steelyard.reports.formats.trec_eval import trec_eval_texts
    from steelyard.reports.visible import visible

    texts = trec_eval_texts(
        files[0],
        files[1],
        [value for name, value in options if name == "-m"],
        min_gain=_whole(values, "-l", 1),
        n_docs=_whole(values, "-N", 0),
        depth=_whole(values, "-M", 0) if "-M" in values else None,
        judged_only="-J" in values,
        per_query="-q" in values,
        summary="-n" not in values,
        complete="-c" in values,
        remark=lambda text: print(f"steelyard: {visible(say(text))}", file=sys.stderr),
    )
    sys.stdout.writelines(texts)


def _whole(values: dict[str, str], option: str, default: int) -> int:
    text = values.get(option, str(default))
    try:
        return int(text)
    except ValueError:
        raise MeasureError(f"{option} {text}: expected a whole number") from None
