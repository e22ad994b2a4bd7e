from pathlib import Path

import numpy as np

from steelyard.rag.pipeline.preparing import StageCache
from steelyard.services.cache import Cache, text_key

KEYS = [text_key(text) for text in ("a", "", "茶", "\ud800")]


def test_arrays_come_back_bit_by_bit(tmp_path: Path) -> None:
    spans = {KEYS[0]: np.array([[0, 4], [3, 9]]), KEYS[1]: np.empty((0, 2), np.int64)}
    vectors = {KEYS[2]: (np.array([0.1, -1e-30], np.float32), 1.5)}
    store = Cache(tmp_path / "cache.sqlite")
    cache = StageCache(store)
    cache.put_spans("c", spans)
    cache.put_vectors("e", "query", vectors)
    cache.put_state("e", b"\0state")
    cut = cache.spans("c", [*KEYS, KEYS[0]])
    assert set(cut) == set(spans)
    assert all(np.array_equal(cut[key], spans[key]) and cut[key].shape == spans[key].shape for key in spans)
    assert cut[KEYS[0]].dtype == np.int64
    vector, ms = cache.vectors("e", "query", KEYS)[KEYS[2]]
    assert vector.dtype == np.float32
    assert vector.tobytes() == vectors[KEYS[2]][0].tobytes()
    assert ms == 1.5
    assert cache.state("e") == b"\0state"
    assert cache.vectors("e", "document", KEYS) == cache.vectors("f", "query", KEYS) == {}
    assert cache.spans("e", KEYS) == {}
    assert cache.state("c") is None
    store.close()


def test_nothing_is_remembered_without_a_store() -> None:
    cache = StageCache()
    cache.put_spans("c", {KEYS[0]: np.array([[0, 1]])})
    cache.put_vectors("e", "query", {KEYS[0]: (np.ones(1, np.float32), 0.0)})
    cache.put_state("e", b"")
    assert (cache.spans("c", KEYS), cache.vectors("e", "query", KEYS), cache.state("e")) == ({}, {}, None)


def test_an_array_cut_short_is_damage_and_computed_anew(tmp_path: Path) -> None:
    store = Cache(tmp_path / "cache.sqlite")
    store.put("query vectors e", {KEYS[0]: (b"\1\2", 0.0)})
    store.put("spans c", {KEYS[0]: (b"\0" * 8, None)})
    assert StageCache(store).vectors("e", "query", KEYS) == {}
    assert StageCache(store).spans("c", KEYS) == {}
    assert store.n_damaged == 2
    store.close()
