"""The language models: against stored results of Hugging Face's, and against themselves."""

import importlib.util
import json

import genesis
import numpy as np
import pytest
from genesis.models.transformers import (
    MoEConfig,
    MoEForCausalLM,
    QwenForCausalLM,
    QwenModel,
    TransformerConfig,
)
from genesis.models.transformers.generation import sample
from genesis.serialization import load_file, save_file

from tests.models.reference import CASES, DATA, write

WITH_EXPERTS = [name for name in CASES if "moe" in name or "mixtral" in name]


def load(name, folder=None):
    cls = MoEForCausalLM if name in WITH_EXPERTS else QwenForCausalLM
    return cls.from_pretrained(str(folder or DATA / name))


def agrees(model, folder):
    with np.load(folder / "expected.npz") as found:
        ids, logits, greedy = (found[key] for key in ("ids", "logits", "greedy"))
    ids = genesis.tensor(ids)
    with genesis.no_grad():
        ours = model(ids)
    np.testing.assert_allclose(ours.numpy(), logits, atol=1e-5, rtol=1e-5)
    added = greedy.shape[1] - ids.shape[1]
    assert model.generate(ids, added, temperature=0).tolist() == greedy.tolist()


@pytest.mark.parametrize("name", CASES)
def test_stored_models(name):
    agrees(load(name), DATA / name)


@pytest.mark.parametrize("name", CASES)
def test_live_models(name, tmp_path):
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    write(name, tmp_path, seed=7, max_shard_size="2KB")  # several files and an index
    assert (tmp_path / "model.safetensors.index.json").exists()
    agrees(load(name, tmp_path), tmp_path)


@pytest.mark.parametrize("name", ["qwen3", "mixtral"])
def test_weights_in_several_files(name, tmp_path):
    weights = load_file(DATA / name / "model.safetensors")
    files = {key: f"model-{i % 3}.safetensors" for i, key in enumerate(weights)}
    for file in set(files.values()):
        save_file({k: v for k, v in weights.items() if files[k] == file}, tmp_path / file)
    index = {"metadata": {}, "weight_map": files}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "config.json").write_text((DATA / name / "config.json").read_text())
    agrees(load(name, tmp_path), DATA / name)
    index["weight_map"] = {"x": "../elsewhere.safetensors"}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match="outside its directory"):
        load(name, tmp_path)


def test_weights_of_all_experts_in_one_tensor():
    model = load("qwen2_moe")
    weights = dict(load_file(DATA / "qwen2_moe" / "model.safetensors"))
    for layer in range(2):
        prefix = f"model.layers.{layer}.mlp.experts"
        take = lambda kind: genesis.stack(  # noqa: E731
            [weights.pop(f"{prefix}.{i}.{kind}.weight") for i in range(3)]  # noqa: B023
        )
        weights[f"{prefix}.gate_up_proj"] = genesis.cat((take("gate_proj"), take("up_proj")), 1)
        weights[f"{prefix}.down_proj"] = take("down_proj")
    again = MoEForCausalLM(model.config)
    again.load_state_dict(weights)
    agrees(again.eval(), DATA / "qwen2_moe")


@pytest.mark.parametrize("name", ["qwen2", "qwen3", "qwen3_moe"])
def test_names_are_those_of_hugging_face(name):
    expected = set(load_file(DATA / name / "model.safetensors"))
    assert set(load(name).state_dict()) == expected


def test_unknown_and_missing_weights_are_errors():
    model = load("qwen2")
    weights = load_file(DATA / "qwen2" / "model.safetensors")
    with pytest.raises(RuntimeError, match="strange"):
        model.load_state_dict({**weights, "strange": genesis.ones(1)})
    weights.pop("model.norm.weight")
    with pytest.raises(RuntimeError, match="model.norm.weight"):
        model.load_state_dict(weights)


def test_tied_weights_are_one():
    model = load("qwen2_tied")
    assert model.lm_head.weight is model.model.embed_tokens.weight


# ---- generation -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["qwen2", "qwen2_moe"])
def test_keys_and_values_that_are_kept_change_nothing(name):
    model = load(name)
    ids = genesis.tensor([[3, 1, 4], [1, 5, 9]])
    slow = ids
    for _ in range(5):
        with genesis.no_grad():
            slow = genesis.cat((slow, model(slow)[:, -1].argmax(-1, keepdim=True)), 1)
    assert model.generate(ids, 5, temperature=0).tolist() == slow.tolist()
    assert model.generate(ids, 5, top_k=1).tolist() == slow.tolist()
    assert model.generate(ids, 5, top_p=1e-6).tolist() == slow.tolist()
    assert model.generate(ids, 0).tolist() == ids.tolist()
    stop = int(slow[0, 3])
    ended = model.generate(ids[:1], 5, temperature=0, eos_token_id=stop)
    assert ended.tolist() == slow[:1, :4].tolist()
    genesis.manual_seed(0)
    first = model.generate(ids, 8, temperature=2.0, top_k=5, top_p=0.9)
    genesis.manual_seed(0)
    assert model.generate(ids, 8, temperature=2.0, top_k=5, top_p=0.9).tolist() == first.tolist()


def test_generation_keeps_the_mode_and_records_nothing():
    model = load("qwen2_moe").train()
    out = model.generate(genesis.tensor([[1]]), 2)
    assert model.training and not out.requires_grad and out.shape == (1, 3)
    with pytest.raises(ValueError, match="at least one token"):
        model.generate(genesis.tensor([1, 2]))


def test_sampling():
    logits = genesis.tensor([[3.0, 2.0, 1.0, -5.0]]).expand(4000, -1)
    genesis.manual_seed(0)
    counts = genesis.bincount(sample(logits).reshape(-1), minlength=4) / 4000
    np.testing.assert_allclose(counts.numpy(), logits[0].softmax(-1).numpy(), atol=0.03)
    assert sample(logits, top_k=2).max().item() == 1
    assert sample(logits, top_p=0.7).max().item() == 1  # 0.665 alone does not reach 0.7
    assert sample(logits, top_p=0.6).max().item() == 0
    cold = genesis.bincount(sample(logits, temperature=0.5).reshape(-1), minlength=4) / 4000
    np.testing.assert_allclose(cold.numpy(), (logits[0] * 2).softmax(-1).numpy(), atol=0.03)
    for bad in ({"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}, {"top_p": 1.5}):
        with pytest.raises(ValueError, match="generate"):
            sample(logits, **bad)


def test_caches_of_a_dense_model():
    config = TransformerConfig(17, 8, 12, num_hidden_layers=2, num_attention_heads=2)
    model = QwenModel(config).eval()
    ids = genesis.randint(0, 17, (2, 6))
    with genesis.no_grad():
        whole = model(ids)
        model.setup_caches(max_batch_size=2, max_seq_length=6)
        assert model.max_seq_length == 8
        steps = [model(ids[:, :3], genesis.arange(3).expand(2, 3))]
        for i in range(3, 6):
            steps.append(model(ids[:, i : i + 1], genesis.full((2, 1), i)))
        np.testing.assert_allclose(genesis.cat(steps, 1).numpy(), whole.numpy(), atol=1e-5)
        with pytest.raises(ValueError, match="setup_caches"):
            model(ids[:, :1], genesis.full((2, 1), 8))


@pytest.mark.parametrize("name", ["qwen2_moe", "mixtral"])
def test_padding_is_not_seen(name):
    model = load(name)
    ids = genesis.tensor([[3, 1, 4, 1]])
    padded = genesis.tensor([[0, 0, 3, 1, 4, 1]])
    mask = genesis.tensor([[0, 0, 1, 1, 1, 1]])
    positions = genesis.tensor([[0, 0, 0, 1, 2, 3]])
    with genesis.no_grad():
        plain = model(ids)
        seen = model(padded, attention_mask=mask, position_ids=positions)
        hidden, past = model.model(ids[:, :2], use_cache=True)
        rest, _ = model.model(ids[:, 2:], past_key_values=past)
        whole, none = model.model(ids, use_cache=False)
    np.testing.assert_allclose(seen[:, 2:].numpy(), plain.numpy(), atol=1e-5)
    np.testing.assert_allclose(genesis.cat((hidden, rest), 1).numpy(), whole.numpy(), atol=1e-5)
    assert none is None and len(past) == model.config.num_hidden_layers


# ---- configurations ---------------------------------------------------------------------------


def test_configurations_of_files():
    dense = TransformerConfig.from_directory(DATA / "llama")
    assert dense.rope_theta == 100 and dense.rope_scaling["rope_type"] == "llama3"
    assert dense.qkv_bias is False and dense.norm_eps == 1e-6
    moe = MoEConfig.from_directory(DATA / "qwen3_moe")
    assert moe.qk_norm and [moe.has_experts(i) for i in range(2)] == [False, True]
    old = TransformerConfig.from_dict({"n_layer": 3, "rope_base": 5.0, "block_size": 7})
    assert (old.n_layer, old.rope_base, old.max_position_embeddings) == (3, 5.0, 7)
    window = {"model_type": "qwen2", "sliding_window": 8, "num_hidden_layers": 30}
    assert TransformerConfig.from_dict(window).sliding_window is None
    found = TransformerConfig.from_dict({**window, "use_sliding_window": True})
    assert [found.window_of(i) for i in (0, 27, 28, 29)] == [None, None, 8, 8]
    assert TransformerConfig.from_dict(found.to_dict()) == found
    with pytest.raises(ValueError, match="rope_scaling"):
        QwenForCausalLM(TransformerConfig(17, 8, 12, 1, 2, rope_scaling={"rope_type": "yarn"}))
    with pytest.raises(ValueError, match="hidden_act"):
        QwenForCausalLM(TransformerConfig(17, 8, 12, 1, 2, hidden_act="cube"))
