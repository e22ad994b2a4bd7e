import json
import re
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from steelyard.align import resolver
from steelyard.base.errors import InputError, MeasureError, OutputError, StageError
from steelyard.base.notes import Note
from steelyard.data.clusters import Clustering
from steelyard.data.folders.run_lock import run_lock
from steelyard.data.hold_out import is_held_out
from steelyard.experiment.door.evaluation import evaluate
from steelyard.measures.registry import Definition
from steelyard.rag.config import Config
from steelyard.rag.sweeping import MEASURES, OVERWRITING, SweepNote, Swept, grid, setting_text, sweep
from steelyard.rag.weighed_run import run_and_weigh
from steelyard.stats.rankings import Lead, lead_over_average, lead_over_next
from steelyard.store.store import Store
from tests.rag import small
from tests.rag.server import Fault, Server, status

# Stages that count what they are asked, across all pipelines of a sweep; the configurations name them.
EMBEDDED: list[str] = []
RERANKED: list[str] = []


class Counted(small.Letters):
    def documents(self, texts: Sequence[str]) -> np.ndarray:
        EMBEDDED.extend(texts)
        return super().documents(texts)


def counted() -> Counted:
    return Counted()


class Counting(small.Shortest):
    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        RERANKED.append(query)
        return super().scores(query, texts)


def counting() -> Counting:
    return Counting()


def tired() -> small.Shortest:
    return small.Shortest(_fail_on="whale")


HERE = "tests.rag.test_sweeping"
BASE = {
    "documents": "documents", "questions": "questions.jsonl", "k": 2, "name": "mine",
    "chunk": "tests.rag.small:Stops", "index": "tests.rag.small:Common",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    EMBEDDED.clear()
    RERANKED.clear()
    return small.write(tmp_path)


def configured(folder: Path, varied: dict[str, object], **more: object) -> Config:
    return Config.of({**BASE, **more, "sweep": varied}, base=folder)


def test_a_grid_has_every_combination_and_k_shares_a_run(folder: Path) -> None:
    varied = {"chunk.size": [300, 100], "index": ["bm25", "dense", ["bm25", "dense"]], "k": [5, 1, 5]}
    trials = grid(configured(folder, varied, chunk={"kind": "recursive", "overlap": 10}))
    assert [(t.settings["chunk.size"], setting_text(t.settings["index"])) for t in trials] == [
        (300, "bm25"), (300, "dense"), (300, "bm25+dense"), (100, "bm25"), (100, "dense"), (100, "bm25+dense")
    ]  # fmt: skip
    assert {t.ks for t in trials} == {(1, 5)}
    assert {t.config.k for t in trials} == {5}
    last = trials[-1].config
    assert last.name == "size=100-index=bm25+dense"
    assert last.folder == folder / "runs" / "mine-sweep" / "size=100-index=bm25+dense"
    assert [stage.kind for stage in last.index] == ["bm25", "dense"]
    assert last.fuse.kind == "rrf"
    assert last.chunk.settings["size"] == 100


def test_k_beyond_the_depth_deepens_the_search(folder: Path) -> None:
    assert [t.config.depth for t in grid(configured(folder, {"k": [5, 300]}))] == [300]
    assert [t.config.depth for t in grid(configured(folder, {"depth": [2, 9]}))] == [2, 9]


def test_what_is_repeated_is_run_once(folder: Path) -> None:
    assert len(grid(configured(folder, {"rerank": ["lexical", "none", "lexical"]}))) == 2
    assert len(grid(configured(folder, {"rerank": "lexical"}))) == 1


def test_folders_of_odd_values_are_kept_apart(folder: Path) -> None:
    addresses = ["http://h/a/b", "http://h/a_b", "http://h/a:b", f"http://h/{'x' * 300}"]
    trials = grid(configured(folder, {"rerank": [{"kind": "http", "url": url} for url in addresses]}))
    names = [trial.config.folder.name for trial in trials]
    assert len(set(names)) == 4
    assert all(len(name.encode()) < 120 and "/" not in name for name in names)


def test_secrets_stay_out_of_names(folder: Path) -> None:
    shown = setting_text({"kind": "http", "url": "http://me:hunter2@host/x", "api_key": "hunter2"})
    assert "hunter2" not in shown
    assert shown.startswith("http ")


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ("", "line 6: there is nothing to vary"),
        ("k = []", "line 6: there is nothing to vary"),
        ("index = []", "line 6: there is nothing to vary"),
        ("k = 0", "line 7: k must be whole numbers from 1, not [0]"),
        ("k = [true]", "line 7: k must be whole numbers from 1, not [True]"),
        ("k = [2.5]", "line 7: k must be whole numbers from 1, not [2.5]"),
        ('indx = ["bm25"]', "line 7: sweep: there is no setting 'indx'; did you mean index?"),
        ('folder = ["a", "b"]', "line 7: sweep: 'folder' cannot vary"),
        ("weigh.min_gain = [1, 2]", "line 7: sweep: 'weigh' cannot vary"),
        ('index = ["bm25", "bm26"]', "line 6: index = bm26: no index stage is called 'bm26'; did you mean bm25?"),
        ("chunk.siz = [9]", "line 6: chunk.siz = 9: chunk recursive: takes no setting 'siz'; did you mean size?"),
        ("chunk.size = [900, -5]", "line 6: chunk.size = -5: chunk recursive: size must be a whole number"),
        ('chunk.size = ["big"]', "size must be a whole number from 1, not 'big'"),
        ("rerank.top_n = [5]", "line 6: rerank.top_n = 5: rerank.top_n: there is no rerank stage"),
        ("index = [[]]", "index must be a name or a table with `kind`, or a list of several of them, not []"),
        ("depth = [1]", "line 6: depth = 1: k is 2, but each index gives depth = 1 candidates"),
    ],
)
def test_a_bad_table_is_told_before_anything_is_run(table: str, reason: str, folder: Path) -> None:
    path = folder / "mine.toml"
    path.write_text(f'documents = "documents"\nquestions = "questions.jsonl"\nk = 2\n\n\n[sweep]\n{table}\n')
    with pytest.raises(InputError) as caught:
        sweep(Config.read(path))
    assert str(caught.value).startswith(f"{path}, line ")
    assert reason in str(caught.value)
    assert not (folder / "runs").exists()


def test_what_else_cannot_be_swept(folder: Path) -> None:
    with pytest.raises(InputError, match="which questions"):
        sweep(Config.of({"documents": "documents", "sweep": {"k": [1]}}, base=folder))
    with pytest.raises(MeasureError, match="did you mean recall"):
        sweep(configured(folder, {"k": [1]}), measures=["recal"])
    assert not (folder / "runs").exists()


def test_a_sweep_weighs_each_pipeline_at_each_k(folder: Path) -> None:
    swept = sweep(configured(folder, {"rerank": ["none", f"{HERE}:counting"], "k": [2, 1]}))
    assert [(setting_text(s["rerank"]), s["k"]) for s in swept.settings] == [
        ("none", 1),
        ("none", 2),
        (f"{HERE}:counting", 1),
        (f"{HERE}:counting", 2),
    ]
    assert tuple(swept.measures) == MEASURES.by_evidence
    assert swept.measures[:4] == ["evidence_recall", "span_recall", "span_precision", "span_iou"]
    assert swept.values.shape == (4, len(MEASURES.by_evidence), 3)
    for row, (setting, path) in enumerate(zip(swept.settings, swept.folders, strict=True)):
        alone = evaluate(folder / "questions.jsonl", [path], [f"{m}@{setting['k']}" for m in MEASURES.by_evidence])
        np.testing.assert_array_equal(swept.values[row], alone.values[0])
    assert swept.means().shape == (4, len(MEASURES.by_evidence))
    assert [question["query"] for question in small.QUESTIONS] == RERANKED


def test_measures_keep_the_k_that_they_say(folder: Path) -> None:
    swept = sweep(configured(folder, {"k": [1, 2]}), measures=["MRR,recall@1", "recall", "map"])
    assert swept.measures == ["mrr", "recall@1", "recall", "map"]
    recall_at_1, recall = swept.values[:, 1], swept.values[:, 2]
    np.testing.assert_array_equal(recall_at_1[0], recall_at_1[1])
    np.testing.assert_array_equal(recall[0], recall_at_1[0])


def test_measures_of_the_configuration_are_taken(folder: Path) -> None:
    weigh = {"measures": ["hit_rate", "ndcg@2"], "rule": "contains"}
    swept = sweep(configured(folder, {"k": [1, 2]}, weigh=weigh))
    assert swept.measures == ["hit_rate", "ndcg@2"]
    assert SweepNote(Note("gold_rule", {"rule": "contains"}), ()) in swept.notes


def test_pipelines_share_vectors_and_a_second_sweep_computes_nothing(folder: Path) -> None:
    varied = {"rerank": ["none", "lexical", f"{HERE}:counting"], "k": [1, 2]}
    config = configured(folder, varied, index="tests.rag.small:Nearest", embed=f"{HERE}:counted")
    first = sweep(config)
    n_chunks = sum(text.count(".") + text.count("。") for text in small.TEXTS.values())
    assert len(EMBEDDED) == n_chunks  # one time for three pipelines
    assert len(RERANKED) == 3
    second = sweep(config)
    assert (len(EMBEDDED), len(RERANKED)) == (n_chunks, 3)
    np.testing.assert_array_equal(first.values, second.values)
    sweep(config, overwrite=True)
    assert (len(EMBEDDED), len(RERANKED)) == (n_chunks, 6)


def test_gold_is_resolved_once_for_each_chunking(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep of 4 pipelines over one chunking once resolved it 4 times, and a run, which checks it first, twice."""
    n_chunks: list[int] = []
    plain = resolver.resolve

    def counting(gold: object, table: object, *more: object, **options: object) -> object:
        n_chunks.append(len(table))
        return plain(gold, table, *more, **options)

    monkeypatch.setattr(resolver, "resolve", counting)
    varied = {"rerank": ["none", "lexical"], "depth": [2, 9], "k": [1, 2]}
    sweep(configured(folder, varied))
    assert n_chunks == [9]
    sweep(configured(folder, {"chunk": ["tests.rag.small:Stops", "whole"], "rerank": ["none", "lexical"]}))
    assert n_chunks == [9, 9, 3]
    run_and_weigh(configured(folder, {}))
    assert n_chunks == [9, 9, 3, 9]


def test_an_interrupted_sweep_goes_on(folder: Path) -> None:
    config = configured(folder, {"rerank": [f"{HERE}:counting", "lexical", "none"]})
    seen: list[tuple[str, int, int]] = []

    def stop(stage: str, done: int, total: int) -> None:
        seen.append((stage, done, total))
        if (stage, done) == ("pipelines", 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(config, progress=stop)
    assert len(RERANKED) == 3
    swept = sweep(config)
    assert len(RERANKED) == 3
    assert len(swept.settings) == 3


def test_an_interrupted_overwriting_of_a_sweep_goes_on(folder: Path) -> None:
    config = configured(folder, {"rerank": [f"{HERE}:counting", "lexical", "none"]})

    def stop(stage: str, done: int, _: int) -> None:
        if (stage, done) == ("pipelines", 1):
            raise KeyboardInterrupt

    sweep(config)
    (folder / "documents" / "sea.txt").write_text("A whale swims in the sea. Sailors fear the whale. It is deep.")
    for progress, n_asked in ((stop, 6), (stop, 6), (None, 6), (stop, 9), (None, 9)):
        with nullcontext() if progress is None else pytest.raises(KeyboardInterrupt):
            sweep(config, overwrite=True, progress=progress)
        assert len(RERANKED) == n_asked
    assert not (folder / "runs" / "mine-sweep" / OVERWRITING).exists()


def test_documents_that_are_edited_amid_an_overwriting_are_run_anew(folder: Path) -> None:
    config = configured(folder, {"rerank": [f"{HERE}:counting", "none"]})

    def stop(stage: str, done: int, _: int) -> None:
        if (stage, done) == ("pipelines", 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(config, overwrite=True, progress=stop)
    (folder / "documents" / "sea.txt").write_text("A whale swims in the sea. Sailors fear the whale.")
    sweep(config, overwrite=True)
    assert len(RERANKED) == 6


def test_a_sweep_leaves_a_run_to_the_process_that_writes_it(folder: Path) -> None:
    config = configured(folder, {"rerank": ["none", f"{HERE}:counting"]})
    second = grid(config)[1].config.folder
    with run_lock(second), pytest.raises(OutputError, match=f"{re.escape(str(second))}: is being written by process"):
        sweep(config, measures=["recall"])
    assert RERANKED == []
    assert len(sweep(config, measures=["recall"]).folders) == 2


def test_a_sweep_over_edited_documents_deletes_nothing(folder: Path) -> None:
    config = configured(folder, {"rerank": ["none", f"{HERE}:counting"]})
    outputs = [path / "outputs.jsonl" for path in sweep(config, measures=["recall"]).folders]
    before = [path.read_bytes() for path in outputs]
    (folder / "documents" / "sea.txt").write_text("A whale swims in the sea. Sailors fear the whale. It is deep.")
    with pytest.raises(InputError, match=r"of another configuration: 1 of 3 documents is edited \(sea\); choose"):
        sweep(config, measures=["recall"])
    assert [path.read_bytes() for path in outputs] == before
    sweep(config, measures=["recall"], overwrite=True)
    assert [path.read_bytes() for path in outputs] != before


def test_notes_are_said_once_and_failures_are_told(folder: Path) -> None:
    (folder / "documents" / "empty.txt").write_text("")
    swept = sweep(configured(folder, {"rerank": ["none", "lexical", f"{HERE}:tired"]}))
    assert swept.notes.count(SweepNote(Note("documents_empty", {"n": 1, "names": ["empty"]}), ())) == 1
    failed = Note("questions_failed", {"n": 1, "total": 3, "names": ["q2"]})
    assert [note for note in swept.notes if note.pipelines] == [SweepNote(failed, (f"rerank={HERE}:tired",))]


def test_a_pipeline_that_fails_from_the_start_is_named(folder: Path) -> None:
    asked = [{"qid": f"q{i}", "query": f"whale {i}", "evidence": [{"text": "whale"}]} for i in range(5)]
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in asked))
    with pytest.raises(StageError, match=f"^rerank={HERE}:tired: the first 5 questions all failed"):
        sweep(configured(folder, {"rerank": ["none", f"{HERE}:tired"]}))
    assert (folder / "runs" / "mine-sweep" / "rerank=none" / "outputs.jsonl").exists()


def test_endpoints_that_do_not_answer_are_named_before_anything_is_run(folder: Path, server: Server) -> None:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    paths = ["/rerank", "/v1/rerank", "/tei/rerank"]
    rerankers = [{"kind": "endpoint", "url": server.url + path, "attempts": 1} for path in paths]
    generators = [{"kind": "openai", "model": "m", "base_url": f"{server.url}/v1", "attempts": 1}]
    config = configured(folder, {"rerank": ["none", *rerankers], "k": [1, 2]}, generate=generators[0])
    server.always("/v1/rerank", status(401))
    server.always("/tei/rerank", Fault(body='{"ranked": []}'))
    server.always("/rerank", status(503))  # It may answer another time.
    message = r"2 of 4 endpoints do not answer.*: \(1\) rerank=.* 401 .*api_key_env; \(2\) rerank=.* results_field$"
    with pytest.raises(StageError, match=message):
        sweep(config)
    assert not list((folder / "runs").rglob("outputs.jsonl"))
    assert [len(server.seen(path)) for path in (*paths, "/v1/chat/completions")] == [1, 1, 1, 1]
    for path in paths[:2]:
        server.always(path, None)
    config = configured(folder, {"rerank": rerankers[:2]})
    sweep(config)
    n = [len(server.seen(path)) for path in paths]
    sweep(config)
    assert [len(server.seen(path)) for path in paths] == n  # What is finished is not asked.


def test_a_run_asks_its_endpoints_before_it_reads_documents(folder: Path, server: Server) -> None:
    pytest.importorskip("httpx2", reason="the extra 'endpoints' is not installed")
    reranker = {"kind": "endpoint", "url": f"{server.url}/rerank"}
    embed, index = f"{HERE}:counted", [{"kind": "dense", "backend": "numpy"}]
    server.always("/rerank", status(404))
    with pytest.raises(StageError, match=r"^rerank: .* answered 404 .*; check the address"):
        run_and_weigh(Config.of({**BASE, "embed": embed, "index": index, "rerank": reranker}, base=folder))
    assert not EMBEDDED


def test_gold_that_is_nowhere_is_told(folder: Path) -> None:
    with (folder / "questions.jsonl").open("a") as file:
        file.write(json.dumps({"qid": "q4", "query": "Lost?", "evidence": [{"text": "nowhere to be found"}]}) + "\n")
    swept = sweep(configured(folder, {"k": [1, 2]}))
    assert [note.note for note in swept.notes] == [
        Note("gold_rule", {"rule": "share>=0.5"}),
        Note("gold_lost", {"n": 1, "total": 4}),
        Note("questions_unwinnable", {"n": 1, "total": 4, "names": ["q4"]}),
    ]


# Leads and holding out


def made(values: np.ndarray, held_out: np.ndarray | None = None) -> Swept:
    """A sweep of one measure; (rows, q) values."""
    rows, n = values.shape
    return Swept(
        [{"k": i} for i in range(rows)], [Path()] * rows, ["ndcg"], values[:, None],
        [str(q) for q in range(n)], np.zeros(n, bool) if held_out is None else held_out, [],
    )  # fmt: skip


def noisy(rows: int, n: int, *, sd: float, seed: int) -> np.ndarray:
    """Equal systems: what the question makes of all of them, and noise of each of standard deviation sd."""
    rng = np.random.default_rng(seed)
    return np.clip(rng.uniform(0.3, 0.7, n), 0, 1) + rng.normal(0, sd, (rows, n))


def close(leads: tuple[Lead, Lead] | None, *expected: Lead) -> bool:
    """Whether leads are the expected ones, but for rounding."""
    return leads is not None and np.allclose(
        [[*vars(lead).values()] for lead in leads], [[*vars(lead).values()] for lead in expected], atol=1e-12
    )


def test_leads_are_those_of_the_first_measure() -> None:
    values = noisy(5, 12, sd=0.2, seed=3)
    assert close(made(values).leads(seed=4), lead_over_next(values), lead_over_average(values, seed=4))
    first, *others = np.sort(values.mean(axis=1))[::-1]
    swept = made(values)
    assert np.sort(swept.ahead)[::-1] == pytest.approx([first - others[0], *(other - first for other in others)])
    assert swept.ahead.argmax() == swept.best == swept.order[0]


def test_leads_are_of_the_questions_that_choose_and_of_their_clusters() -> None:
    values = noisy(4, 20, sd=0.2, seed=1)
    held_out, codes = np.arange(20) >= 10, np.arange(20) // 2
    assert made(values, held_out).leads() == made(values[:, :10]).leads()
    clustered = replace(made(values, held_out), clustering=Clustering("doc", codes)).leads()
    assert close(
        clustered,
        lead_over_next(values[:, :10], clusters=codes[:10]),
        lead_over_average(values[:, :10], seed=0, clusters=codes[:10]),
    )


def test_questions_without_a_value_are_left_out() -> None:
    values = noisy(4, 10, sd=0.2, seed=2)
    apart = np.hstack([values, np.full((4, 5), np.nan)])
    assert made(apart).means()[:, 0] == pytest.approx(values.mean(axis=1))
    leads = made(apart).leads()
    assert leads is not None
    assert [lead.lead for lead in leads] == pytest.approx([lead.lead for lead in made(values).leads() or ()])
    nothing = made(np.full((3, 4), np.nan))
    assert np.isnan(nothing.means()).all()
    assert np.isnan(nothing.ahead).all()
    assert (nothing.leads(), nothing.best) == (None, 0)


@pytest.mark.parametrize("rows", [1, 2])
def test_one_row_with_a_mean_leads_nothing(rows: int) -> None:
    swept = made(np.vstack([noisy(1, 9, sd=0.3, seed=0), *[np.full((1, 9), np.nan)] * (rows - 1)]))
    assert swept.leads() is None
    assert np.isnan(swept.ahead).all()


def test_geometric_means_are_ranked_by_themselves_and_not_tested() -> None:
    values = np.array([[0.9, 0.9, 0.00001], [0.5, 0.5, 0.5]])
    swept = replace(made(values), measures=["gm_map"])
    assert (swept.order, swept.leads()) == ([1, 0], None)
    assert swept.ahead[1] == pytest.approx(0.5 - (0.81 * 0.00001) ** (1 / 3))


def test_lower_values_of_some_measures_are_better(monkeypatch: pytest.MonkeyPatch) -> None:
    values = noisy(3, 10, sd=0.2, seed=5)
    monkeypatch.setattr(Definition, "higher_is_better", False)
    swept = made(values)
    assert swept.order == np.argsort(values.mean(axis=1)).tolist()
    assert close(swept.leads(), lead_over_next(-values), lead_over_average(-values, seed=0))
    assert swept.ahead.max() == pytest.approx(np.diff(np.sort(values.mean(axis=1)))[0])


def test_the_best_is_the_first_among_equals_and_never_one_without_value() -> None:
    values = np.array([[np.nan, np.nan], [0.2, 0.4], [0.4, 0.2]])
    assert made(values).best == 1


def test_half_of_the_questions_are_held_out_of_the_choice(folder: Path) -> None:
    asked = [
        {"qid": f"q{i}", "query": "whale sea", "evidence": [{"doc": "sea.txt", "start": 26, "end": 49}]}
        for i in range(11)
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in asked))
    config = configured(folder, {"k": [1, 2]})
    one, same, other = (sweep(config, holdout=True, seed=seed) for seed in (7, 7, 8))
    assert one.held_out.sum() == 5
    np.testing.assert_array_equal(one.held_out, same.held_out)
    assert (one.held_out != other.held_out).any()
    assert not sweep(config).held_out.any()


def test_what_is_held_out_of_a_sweep_is_in_its_scores_alone(folder: Path, tmp_path: Path) -> None:
    asked = [
        {"qid": f"q{i}", "query": f"whale {'sea' * (i % 2)}", "evidence": [{"doc": "sea.txt", "start": 26, "end": 49}]}
        for i in range(1, 13)
    ]
    (folder / "questions.jsonl").write_text("".join(json.dumps(question) + "\n" for question in asked))
    config = configured(folder, {"k": [1, 2], "chunk.kind": ["sentences", "whole"]})
    with Store(tmp_path / "history.db") as store:
        swept = sweep(config, measures=["mrr"], hold_out=0.4, store=store)
        held = {f"q{i}" for i in range(1, 13) if is_held_out(f"q{i}", 0.4)}
        assert set(swept.query_ids) == {question["qid"] for question in asked} - held
        assert swept.scores is not None
        assert swept.scores.held_out is not None
        assert set(swept.scores.held_out.query_ids) == held
        assert len(swept.scores.systems) == swept.n_tried == 2
        entry = store.add(swept)
        configs = {parts["config"] for parts in entry.fingerprints.values()}
        assert set(store.configs(str(entry.truth))["config"]) == configs
        assert store.result(entry.id).n_tried == 2
        again = sweep(config, measures=["mrr"], hold_out=0.4, store=store)
        assert again.n_tried == 2
        assert sweep(config, measures=["mrr"], store=store).n_tried == 2
        assert sweep(config, n_tried=30).n_tried == 30


def test_luck_of_the_best_after_more_were_tried() -> None:
    swept = made(noisy(3, 40, sd=0.2, seed=5))
    assert swept.luck() is None
    assert "luck" not in swept.data()
    few, many = (replace(swept, n_tried=n).luck() for n in (1, 60))
    assert few is not None
    assert many is not None
    assert (few.n_systems, many.n_systems) == (3, 60)
    assert few.over_average.lead == many.over_average.lead == pytest.approx(swept.leads()[1].lead)
    assert few.over_average.mean < many.over_average.mean
    text = replace(swept, n_tried=60).text(lang="en")
    assert "60 configurations were tried on these questions" in text


def test_the_best_is_chosen_on_one_half_only() -> None:
    values = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    held_out = np.array([True, True, False, False])
    swept = made(values, held_out)
    assert swept.best == 1
    assert swept.means()[:, 0].tolist() == [0.0, 1.0]
    assert swept.means(held_out)[swept.best, 0] == 0.0


@pytest.mark.parametrize("index", ["bm25", "dense", ["bm25", "dense"]])
def test_real_retrievers(index: object, folder: Path) -> None:
    pytest.importorskip("bm25s", reason="needs the extra rag")
    pytest.importorskip("sklearn", reason="needs the extra rag")
    varied = {"chunk.size": [40, 80], "index": [index], "rerank": ["none", "lexical"]}
    config = Config.of({**BASE, "chunk": "sentences", "index": "bm25", "k": 3, "sweep": varied}, base=folder)
    swept = sweep(config, measures=["evidence_recall", "span_recall"])
    assert len(swept.settings) == 4
    assert swept.means().min() > 0.5
