import random
import re
from pathlib import Path

import pytest

from steelyard.reports.formats.trec_eval import NOT_TAKEN
from tests.cli.command import complaint, printed
from tests.shared_data import shared


def lines(text: str) -> list[str]:
    """The recordings were made of a run of another name."""
    return [line for line in text.splitlines(keepends=True) if not line.startswith("runid ")]


def fuzz(*arguments: str) -> str:
    folder = shared("ir-fuzz")
    return printed("trec-eval", *arguments, folder / "fuzz.qrels", folder / "fuzz.run")


def expected(name: str) -> list[str]:
    return lines(shared("ir-fuzz", name).read_text())


def test_all_trec_byte_for_byte() -> None:
    text = fuzz("-q", "-c", "-m", "all_trec")
    assert lines(text) == expected("trec_eval-v10.0.q.c.all_trec.txt")
    assert "runid                 \tall\tfuzz\n" in text


def test_judged_only_but_for_empty_lists() -> None:
    """trec_eval 10 divides by zero where the condensed list is empty and prints -nan; the value is 0."""
    ours, theirs = lines(fuzz("-q", "-c", "-J")), expected("trec_eval-v10.0.q.c.J.official.txt")
    assert len(ours) == len(theirs)
    different = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    assert all(a.startswith("iprec_at_recall") and b.endswith("-nan\n") for a, b in different)
    assert all(a.endswith("0.0000\n") for a, _ in different if "\tall\t" not in a)
    assert different


def test_level_two_but_for_one_sum() -> None:
    """With -c, trec_eval sums num_rel over labels from 1 whatever -l says; here the sum is that of the lines above."""
    ours, theirs = lines(fuzz("-q", "-c", "-l2")), expected("trec_eval-v10.0.q.c.l2.official.txt")
    different = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    assert different == [("num_rel               \tall\t578\n", "num_rel               \tall\t1012\n")]
    assert sum(int(line.split()[2]) for line in ours if line.startswith("num_rel ") and "\tall\t" not in line) == 578


def test_without_c_missing_queries_are_left_out() -> None:
    """Version 9 did so too (10 stops there); its interpolated precision is rounded in another way."""
    ours, theirs = lines(fuzz("-q")), expected("trec_eval-v9.0.8.q.official.txt")
    different = [a for a, b in zip(ours, theirs, strict=True) if a != b]
    assert all(line.startswith("iprec_at_recall") for line in different)


@pytest.fixture
def tiny(tmp_path: Path) -> list[Path]:
    qrels, run = tmp_path / "t.qrels", tmp_path / "t.run"
    qrels.write_text("q1 0 a 3\nq1 0 b 0\nq1 0 c 1\nq2 0 d 12\nq3 0 e 1\nq1 0 f -1\n")
    run.write_text("q1 Q0 a 1 5 mine\nq1 Q0 x 2 4 mine\nq1 Q0 f 3 3 mine\nq1 Q0 c 4 2 mine\nq2 Q0 d 1 1 mine\n")
    return [qrels, run]


# Worked by hand: q1 is a x f c, q2 is d, q3 is missing.
TINY = {
    "-m P.1,2": {"P_1": "1.0000", "P_2": "0.5000"},
    "-c -m P.1,2": {"P_1": "0.6667", "P_2": "0.3333"},
    "-m num_q -m runid": {"num_q": "2", "runid": "mine"},
    "-c -m num_q": {"num_q": "3"},
    "-m utility.2,-1,0,0": {"utility_2,-1,0,0": "2.0000"},
    "-N 10 -mutility.0,0,0,1": {"utility_0,0,0,1": "7.5000"},
    "-l2 -m num_rel": {"num_rel": "2"},
    "-M1 -m num_ret": {"num_ret": "2"},
    "-J -m num_ret": {"num_ret": "3"},
    "-m set_F.4": {"set_F_4": "0.9167"},
    "-mndcg.1=3,3=9": {"ndcg_1=3,3=9": "0.9724"},
    "-m rbp.p=0.5": {"rbp_p=0.5": "0.5104"},
    "-l2 -m rbp.p=0.5,1=6": {"rbp_p=0.5,1=6": "0.4062"},
    "-m rbp_resid.p=0.5": {"rbp_resid_p=0.5": "0.2188"},
    "-J -m rbp_resid": {"rbp_resid": "0.0000"},
    "-o -m P.1.9,2.2": {"P_1": "1.0000", "P_2": "0.5000"},
    "--Output_old_results_format 1 -m P.1": {"P_1": "1.0000"},
    "-m 11pt_avg..5,1": {"11pt_avg_.5,1": "0.8750"},
    "-m ideal_dcg": {"ideal_dcg": "7.8155"},
    "-m ideal_dcg.3=1": {"ideal_dcg_3=1": "6.8155"},
    "-m yaap": {"yaap": "0.6020"},
    "-m set_F.0.5": {"set_F_0.5": "0.8000"},
    "-m map -m P.2 -m P.1": {"map": "0.8750", "P_2": "0.5000"},
}


@pytest.mark.parametrize(("arguments", "want"), TINY.items())
def test_arguments(arguments: str, want: dict[str, str], tiny: list[Path]) -> None:
    rows = [line.split("\t") for line in printed("trec-eval", *arguments.split(), *tiny).splitlines()]
    assert {label.strip(): value for label, _, value in rows} == want
    assert all(query == "all" for _, query, _ in rows)


def test_relstring_shows_one_character_a_document(tiny: list[Path]) -> None:
    text = printed("trec-eval", "-q", "-n", "-c", "-m", "relstring", *tiny)
    assert [line.split("\t")[2] for line in text.splitlines()] == ["'3-.1'", "'>'", "''"]


@pytest.mark.parametrize("length", [1, 3, 40])
def test_many_queries_by_their_definition(length: int, tmp_path: Path) -> None:
    """More queries than are written at once, with ids that would confuse a template."""
    generator, queries = random.Random(length), [f"%s{{{i}}}" for i in range(2100)]
    labels = {query: {f"d{j}": generator.randint(-2, 12) for j in range(generator.randint(1, 9))} for query in queries}
    retrieved = {query: generator.sample(range(12), generator.randint(1, 12)) for query in queries}
    qrels, run = tmp_path / "t.qrels", tmp_path / "t.run"
    qrels.write_text("".join(f"{q} 0 {d} {gain}\n" for q, gains in labels.items() for d, gain in gains.items()))
    run.write_text("".join(f"{q} Q0 d{j} 0 {-rank} t\n" for q in queries for rank, j in enumerate(retrieved[q])))
    want = ""
    for query in sorted(queries):
        gains = [labels[query].get(f"d{j}") for j in retrieved[query][:length]]
        shown = "".join("-" if g is None else "." if g < 0 else ">" if g > 9 else str(g) for g in gains)
        relevant = sum(labels[query].get(f"d{j}", 0) >= 1 for j in retrieved[query])
        want += f"num_rel_ret           \t{query}\t{relevant}\n"
        want += f"P_1                   \t{query}\t{float((gains[0] or 0) >= 1):.4f}\n"
        want += f"{f'relstring_{length}':<22}\t{query}\t'{shown}'\n"
    measures = ("-m", f"relstring.{length}", "-m", "P.1", "-m", "num_rel_ret", "-m", "num_q", "-m", "gm_map")
    assert printed("trec-eval", "-q", "-n", *measures, qrels, run) == want


def test_long_options_and_order_of_arguments(tiny: list[Path]) -> None:
    short = printed("trec-eval", "-q", "-c", "-l", "2", "-m", "map", *tiny)
    assert printed("trec-eval", *tiny, "--query_eval_wanted", "--complete_rel_info_wanted", "--level_for_rel=2",
                   "--measure", "map") == short  # fmt: skip


REFUSED = {
    "-Z means.txt": "-Z: z-scores are not supported",
    "-R prefs": "only -R qrels",
    "-D 1": "-D: debug",
    "-m ideal_dcg.2": "is not a number",
    "-m yaap.1": "yaap takes no parameters",
    "-m 11pt_avg..5,.5": "a cut-off is named twice",
    "-m P.1,1.5": "a cut-off is named twice",
    "-m P.0.9": "k must be a whole number from 1, not 0",
    "-m P_avgjg.5": "-m P_avgjg: is not taken here; it is about judgments of several groups",
    "-m prefs_simp_ret": "-m prefs_simp_ret: is not taken here",
    "-m rbp.0=-1": "a gain below 0 is no share",
    "-m prefs": "-m prefs: is not taken here; it is about preferences between documents",
    "-m nonsense": "trec_eval has no measure 'nonsense'",
    "-m P.": "parameters are missing",
    "-m P.5,5": "a cut-off is named twice",
    "-m P.0": "k must be a whole number from 1",
    "-m map.5": "map takes no parameters",
    "-m utility.1,2": "four coefficients",
    "-l two": "-l two: expected a whole number",
    "-Y": "usage: steelyard trec-eval",
}


@pytest.mark.parametrize(("arguments", "reason"), REFUSED.items())
def test_what_it_does_not_take_is_refused_by_name(arguments: str, reason: str, tiny: list[Path]) -> None:
    assert reason in complaint("trec-eval", *arguments.split(), *tiny)


def test_the_run_may_come_from_standard_input(tiny: list[Path]) -> None:
    qrels, run = tiny
    arguments = ("trec-eval", "-c", "-m", "runid", "-m", "map", qrels)
    assert printed(*arguments, "-", stdin=run.read_bytes()) == printed(*arguments, run)


def test_two_files_are_needed(tiny: list[Path]) -> None:
    assert "expected two files" in complaint("trec-eval", tiny[0])


def test_the_docs_list_what_is_not_taken() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "coming-from.md").read_text()
    table = page.partition("What it does not take, and says so:")[2].partition("\n## ")[0]
    assert set(re.findall(r"`([A-Za-z_]+)`", table)) == NOT_TAKEN.keys()
    assert {"-Z", "-D"} <= set(re.findall(r"`(-\w)`", table))
