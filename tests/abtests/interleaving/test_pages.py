import timeit
from collections import Counter
from itertools import islice, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.abtests.interleaving.pages import _uniforms, interleave
from steelyard.base.errors import InputError

N = 4000
ranking = st.lists(st.sampled_from("abcdefghij"), max_size=8)
several = st.dictionaries(st.sampled_from(["old", "new", "third", "fourth"]), ranking, min_size=2)


def pages(rankings, n=N, **options):
    return [interleave(rankings, f"request-{i}", **options) for i in range(n)]


def counted(rankings, **options):
    shown = pages(rankings, **options)
    return Counter((tuple(page.doc_ids), tuple(page.teams)) for page in shown)


def drafts(rankings, n):
    """(documents, teams) -> chance of a team draft, round by round over every order of the teams."""
    chances = Counter()

    def go(documents, teams, chance):
        if len(documents) == n:
            chances[documents, teams] += chance
            return
        orders = list(permutations(rankings))
        for order in orders:
            shown, whose = documents, teams
            for team in order:
                if len(shown) < n:
                    shown += (next(d for d in rankings[team] if d not in shown),)
                    whose += (team,)
            go(shown, whose, chance / len(orders))

    go((), (), 1.0)
    return chances


@pytest.mark.parametrize(
    "rankings",
    [{"old": "abcd", "new": "bcea"}, {"old": "abc", "new": "xyz"}, {"old": "abcd", "new": "bdca", "third": "cxab"}],
)
def test_drafts_are_as_likely_as_coins_say(rankings):
    n = len(rankings["old"])
    chances, counts = drafts(rankings, n), counted(rankings, k=n)
    assert set(counts) <= set(chances)
    expected = np.array([N * chances[page] for page in chances])
    found = np.array([counts[page] for page in chances])
    squares = ((found - expected) ** 2 / expected).sum()
    assert squares < len(chances) - 1 + 4 * (2 * (len(chances) - 1)) ** 0.5


@given(several, st.integers(1, 9), st.sampled_from(["team-draft", "probabilistic"]), st.text())
def test_a_page_holds_what_its_rankings_allow(rankings, k, method, request):
    if method == "probabilistic":
        rankings = dict(islice(rankings.items(), 2))
    page = interleave(rankings, request, k=k, method=method)
    distinct = {name: list(dict.fromkeys(documents)) for name, documents in rankings.items()}
    n = min(k, *map(len, distinct.values()))
    everything = {document for documents in rankings.values() for document in documents}
    assert page == interleave(rankings, request, k=k, method=method)
    assert len(page.doc_ids) == len(page.teams) == len(set(page.doc_ids)) == min(k, len(everything))
    assert set(page.doc_ids) <= everything
    assert set(page.teams[n:]) <= {None}
    counts = Counter(page.teams)
    for place, team in enumerate(page.teams[:n]):
        if method == "team-draft" and team is not None:
            rest = [document for document in distinct[team] if document not in page.doc_ids[:place]]
            assert page.doc_ids[place] == rest[0]
    if method == "team-draft" and set(page.teams) != {None}:
        assert max(counts[name] for name in rankings) - min(counts[name] for name in rankings) <= 1
    if method == "probabilistic":
        assert len(page.propensities) == len(page.team_shares) == len(page.doc_ids)
        assert all(0 < chance <= 1 for chance in page.propensities)
        assert [share is None for share in page.team_shares] == [team is None for team in page.teams]


def test_what_all_have_first_is_of_no_team():
    page = interleave({"old": "abcde", "new": "abxyc", "third": "abyce"}, "r", k=5)
    assert (page.doc_ids[:2], page.teams[:2]) == (["a", "b"], [None, None])
    assert None not in page.teams[2:]
    assert interleave({"old": "abc", "new": "abc"}, "r").teams == [None] * 3


def test_short_rankings_leave_the_rest_of_a_page_to_no_team():
    page = interleave({"old": "abcdef", "new": "xy"}, "r", k=5)
    assert sorted(map(str, page.teams)) == ["None", "None", "None", "new", "old"]
    assert sorted(page.doc_ids[2:]) == sorted(set("abcxy") - set(page.doc_ids[:2]))
    assert interleave({"old": "abc", "new": ""}, "r").doc_ids == ["a", "b", "c"]
    assert interleave({"old": "", "new": ""}, "r").doc_ids == []


def test_near_identical_documents_are_shown_once():
    rankings = {"old": ["a#1", "b#1", "c#1"], "new": ["a#2", "a#3", "d#1", "b#2"]}
    by_dict = {"a#1": 1, "a#2": 1, "a#3": 1, "b#1": 2, "b#2": 2}
    for key in (lambda doc_id: doc_id[0], by_dict):
        page = interleave(rankings, "r", key=key)
        assert sorted(doc_id[0] for doc_id in page.doc_ids) == ["a", "b", "c", "d"]
        assert page.teams[0] is None
        assert page.doc_ids[0] == "a#1"
    team = dict(zip(page.doc_ids, page.teams, strict=True))
    assert all(doc_id in rankings[name] for doc_id, name in team.items() if name)


def test_probabilities_of_drawn_pages_are_those_that_are_logged():
    rankings = {"old": "abc", "new": "bxa"}
    shown = pages(rankings, method="probabilistic", k=3)
    chances = {tuple(page.doc_ids): np.prod(page.propensities) for page in shown}
    counts = Counter(tuple(page.doc_ids) for page in shown)
    assert sum(chances.values()) == pytest.approx(1, abs=0.02)
    for page, chance in chances.items():
        assert abs(counts[page] / N - chance) < 4.5 * (chance * (1 - chance) / N) ** 0.5
    first = [page for page in shown if page.doc_ids[0] == "b"]
    by_hand = {"new": 1 / (1 + 1 / 8), "old": (1 / 8) / (1 + 1 / 8)}
    for team, share in by_hand.items():
        picked = [page for page in first if page.teams[0] == team]
        assert [page.team_shares[0] for page in picked] == pytest.approx([share] * len(picked))
        assert abs(len(picked) / len(first) - share) < 4.5 * (share * (1 - share) / len(first)) ** 0.5


def test_coins_are_those_of_other_languages():
    """The first numbers of SplitMix64 from 1234567, of which implementations quote the whole 64 bits."""
    bits = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
    assert list(islice(_uniforms(1234567), 5)) == [(number >> 11) / 2**53 for number in bits]


@pytest.mark.parametrize(
    ("rankings", "options", "message"),
    [
        ({"old": "abc"}, {}, "1 rankings were given; expected two"),
        ({"a": "a", "b": "b", "c": "c"}, {"method": "probabilistic"}, "3 rankings .*team-draft"),
        ({"a": "a", "": "b"}, {}, "not empty"),
        ({"a": "a", "b": "b"}, {"k": 0}, "k is 0; expected at least 1"),
        ({"a": "a", "b": "b"}, {"method": "team_draft"}, "team-draft"),
    ],
)
def test_what_cannot_be_interleaved_is_said(rankings, options, message):
    with pytest.raises(InputError, match=message):
        interleave(rankings, "r", **options)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["team-draft", "probabilistic"])
def test_a_page_of_ten_takes_less_than_50_microseconds(method):
    rankings = {"old": [f"d{i}" for i in range(10)], "new": [f"d{i}" for i in range(1, 11)]}
    times = timeit.repeat(lambda: interleave(rankings, "r", method=method), number=500, repeat=7)
    assert min(times) / 500 < 50e-6
