"""Models of a few thousand random weights, made on the spot: real code runs on them, and they know nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] whale ship sea load the a of . 鲸 鱼 秤 大 海 。".split()


def cross_encoder_folder(folder: Path, labels: Sequence[str] = ("LABEL_0",)) -> str:
    """A cross-encoder of two small layers with random weights, which reads 64 tokens."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, num_labels=len(labels), initializer_range=0.5,
        id2label=dict(enumerate(labels)), label2id={label: i for i, label in enumerate(labels)},
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertForSequenceClassification(config).eval().save_pretrained(folder)
    BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    return str(folder)


def encoder_folder(folder: Path) -> str:
    """An embedding model of two small layers with random weights: the same text has the same vector, that is all."""
    import torch
    from sentence_transformers import SentenceTransformer
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder.mkdir()
    bare = folder / "bare"
    bare.mkdir()
    (bare / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(VOCABULARY), hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=64, initializer_range=0.5,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(config).eval().save_pretrained(bare)
    BertTokenizerFast(str(bare / "vocab.txt"), model_max_length=64).save_pretrained(bare)
    SentenceTransformer(str(bare), device="cpu").save(str(folder / "whole"))  # The library adds mean pooling.
    return str(folder / "whole")
