"""`steelyard trec-eval`: the trec_eval program's arguments and output."""

from __future__ import annotations

import getopt
import sys

from steelyard.base.errors import InputError, MeasureError

_LONG = ["help", "version", "query_eval_wanted", "measure=", "complete_rel_info_wanted", "level_for_rel=", "nosummary",
         "Debug_level=", "Judged_docs_only", "Number_docs_in_coll=", "Max_retrieved_per_topic=", "Rel_info_format=",
         "Results_format=", "Zscore="]  # fmt: skip
_SHORT_OF = {f"--{name.rstrip('=')}": f"-{name[0]}" for name in _LONG}
_REFUSED = {
    "-Z": "z-scores are not supported",
    "-D": "debug output is not supported",
    "-o": "the old output format is gone from trec_eval too",
}
_MOST = 10**15
_USAGE = "usage: steelyard trec-eval [-q] [-c] [-n] [-J] [-l N] [-M N] [-N N] [-m MEASURE[.PARAMS]] ... QRELS RUN"


def run(arguments: list[str]) -> None:
    """Print what trec_eval prints for these arguments."""
    try:
        pairs, files = getopt.gnu_getopt(arguments, "hvqm:cl:nD:JN:M:R:T:oZ:", _LONG)
    except getopt.GetoptError as error:
        raise InputError(f"{error}; {_USAGE}") from None
    options = [(_SHORT_OF.get(name, name), value) for name, value in pairs]
    given = dict(options)
    for name, reason in _REFUSED.items():
        if name in given:
            raise InputError(f"{name}: {reason}")
    if given.get("-R", "qrels") != "qrels" or given.get("-T", "trec_results") != "trec_results":
        raise InputError("only -R qrels and -T trec_results are supported")
    if "-h" in given or "-v" in given:
        from steelyard._version import __version__

        print(_USAGE if "-h" in given else f"steelyard {__version__}, output of trec_eval 10.0")
        return
    if len(files) != 2:
        raise InputError(f"expected two files, QRELS and RUN, but got {len(files)}; {_USAGE}")
    _print(files[0], files[1], given, [value for name, value in options if name == "-m"])


def _print(truth_path: str, run_path: str, given: dict[str, str], wanted: list[str]) -> None:
    from steelyard.align.rankings import align
    from steelyard.data.run import StreamedRun
    from steelyard.data.truth import Truth
    from steelyard.report.formats import trec_eval

    columns = trec_eval.columns(wanted, min_gain=_whole(given, "-l", 1), n_docs=_whole(given, "-N", 0))
    run = StreamedRun(run_path)
    alignment = align(Truth.read(truth_path), run).alignment
    if "-M" in given:
        alignment = alignment.top(min(max(_whole(given, "-M", 0), 0), _MOST))
    if "-J" in given:
        alignment = alignment.condensed()
    lines = trec_eval.lines(
        alignment,
        columns,
        runid=run.tag,
        per_query="-q" in given,
        summary="-n" not in given,
        complete="-c" in given,
    )
    sys.stdout.writelines(line + "\n" for line in lines)


def _whole(given: dict[str, str], option: str, default: int) -> int:
    text = given.get(option, str(default))
    try:
        return int(text)
    except ValueError:
        raise MeasureError(f"{option} {text}: expected a whole number") from None
