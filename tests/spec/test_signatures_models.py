"""The models of the original Genesis: every listed signature, with its own parameters."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.models.transformers import components, config, dense, moe

SMALL = {
    "vocab_size": 50,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_local_experts": 4,
    "num_experts_per_tok": 2,
    "max_position_embeddings": 32,
}


def close(x, y):
    np.testing.assert_allclose(x.detach().numpy(), y.detach().numpy(), atol=1e-5)


# ---- config -----------------------------------------------------------------------------------


def test_configs():
    c = config.TransformerConfig()
    assert (c.vocab_size, c.hidden_size, c.intermediate_size) == (32000, 4096, 14336)
    assert (c.num_hidden_layers, c.num_attention_heads, c.num_key_value_heads) == (32, 32, 32)
    assert (c.head_dim, c.max_position_embeddings, c.rope_theta, c.rope_scaling) == (
        128,
        4096,
        1e4,
        None,
    )
    assert (c.norm_eps, c.use_cache, c.tie_word_embeddings) == (1e-6, True, False)
    assert (c.attention_bias, c.mlp_bias, c.hidden_act, c.initializer_range) == (
        False,
        False,
        "silu",
        0.02,
    )
    assert c.n_layer == 32 and c.rope_base == 1e4
    m = config.MoEConfig()
    assert (m.num_experts_per_tok, m.num_local_experts, m.num_shared_experts) == (2, 8, None)
    assert (m.moe_intermediate_size, m.shared_expert_intermediate_size) == (14336, None)
    assert (m.router_aux_loss_coef, m.router_z_loss_coef, m.scoring_func) == (
        0.01,
        0.001,
        "softmax",
    )
    assert (m.seq_aux, m.norm_topk_prob, m.expert_bias, m.use_moe_in_all_layers) == (
        True,
        True,
        False,
        True,
    )
    assert (m.moe_layer_interval, m.first_moe_layer) == (1, 0)
    again = config.MoEConfig.from_dict(config.MoEConfig(**SMALL).to_dict())
    assert again == config.MoEConfig(**SMALL) and again.to_dict()["vocab_size"] == 50


@pytest.mark.parametrize(
    "bad, text",
    [
        ({"hidden_size": 777, "num_attention_heads": 12}, "hidden_size"),
        ({"num_attention_heads": 4, "num_key_value_heads": 3}, "num_key_value_heads"),
        ({"num_experts_per_tok": 10, "num_local_experts": 4}, "num_experts_per_tok"),
        ({"scoring_func": "cube"}, "scoring_func"),
    ],
)
def test_configs_check_themselves(bad, text):
    with pytest.raises(ValueError, match=text):
        config.MoEConfig(**bad)


def test_presets():
    c = config.get_transformer_config("llama-7b")
    assert (c.vocab_size, c.hidden_size, c.intermediate_size, c.n_layer) == (32000, 4096, 11008, 32)
    c = config.get_transformer_config("llama-13b")
    assert (c.hidden_size, c.intermediate_size, c.n_layer, c.num_attention_heads) == (
        5120,
        13824,
        40,
        40,
    )
    c = config.get_transformer_config("qwen-0.5b")
    assert (c.vocab_size, c.hidden_size, c.intermediate_size, c.n_layer) == (151936, 896, 4864, 24)
    assert (c.num_attention_heads, c.num_key_value_heads, c.max_position_embeddings) == (
        14,
        2,
        32768,
    )
    assert c.rope_theta == 1e6
    m = config.get_moe_config("moe-small")
    assert (m.vocab_size, m.hidden_size, m.intermediate_size, m.n_layer) == (32000, 768, 2048, 12)
    assert (m.num_local_experts, m.num_experts_per_tok, m.max_position_embeddings) == (4, 2, 2048)
    m = config.get_moe_config("mixtral-8x7b")
    assert (m.num_key_value_heads, m.num_local_experts, m.num_experts_per_tok) == (8, 8, 2)
    m = config.get_moe_config("deepseek-moe-16b")
    assert (m.hidden_size, m.intermediate_size, m.n_layer, m.num_attention_heads) == (
        2048,
        10944,
        28,
        16,
    )
    assert (m.num_local_experts, m.num_experts_per_tok, m.num_shared_experts) == (64, 6, 2)
    assert m.moe_intermediate_size == 1408
    for get in (config.get_transformer_config, config.get_moe_config):
        with pytest.raises(ValueError, match="there is no preset"):
            get("nonexistent")


# ---- components -------------------------------------------------------------------------------


def test_components():
    rope = components.RotaryEmbedding(8, max_position_embeddings=4, base=10000.0, device=None)
    x = genesis.randn(1, 2, 6, 8)
    cos, sin = rope(x, seq_len=None)
    assert cos.shape == sin.shape == (6, 8)  # longer than the table, which grew
    assert rope(x, seq_len=3)[0].shape == (3, 8) and not list(rope.parameters())
    assert "cos_cached" not in rope.state_dict()
    first, second = x[..., :4], x[..., 4:]
    close(components.rotate_half(x), genesis.cat((-second, first), -1))
    q, k = components.apply_rotary_pos_emb(x, x, cos, sin, position_ids=None, unsqueeze_dim=1)
    close(q, x * cos + components.rotate_half(x) * sin), close(k, q)
    positions = genesis.tensor([[0, 2, 4, 1, 3, 5]])
    q, _ = components.apply_rotary_pos_emb(x, x, cos, sin, positions)
    close(q[:, :, 1], x[:, :, 1] * cos[2] + components.rotate_half(x[:, :, 1]) * sin[2])
    close(q.norm(dim=-1), x.norm(dim=-1))
    close(nn.RotaryEmbedding(8)(x), components.apply_rotary_pos_emb(x, x, cos, sin)[0])
    assert [components.find_multiple(n, 8) for n in (1, 8, 10)] == [8, 8, 16]


# ---- mixtures of experts ----------------------------------------------------------------------


@pytest.mark.parametrize("seq_aux", [True, False])
def test_gate(seq_aux):
    genesis.manual_seed(0)
    gate = moe.MoEGate(
        hidden_size=8, num_experts=4, top_k=2, aux_loss_alpha=0.1, seq_aux=seq_aux,
        norm_topk_prob=True, scoring_func="softmax",
    )  # fmt: skip
    x = genesis.randn(3, 5, 8)
    indices, weights, loss = gate(x)
    assert indices.shape == weights.shape == (15, 2) and loss.shape == ()
    close(weights.sum(1), genesis.ones(15))
    scores = (x.reshape(-1, 8) @ gate.weight.T).softmax(-1)
    assert indices.tolist() == scores.topk(2).indices.tolist()
    counts, share = np.zeros((3, 4)), scores.detach().numpy().reshape(3, 5, 4).mean(1)
    for row, chosen in enumerate(indices.tolist()):
        counts[row // 5, chosen] += 1
    load = counts / (5 * 2 / 4)
    if not seq_aux:
        load, share = load.mean(0, keepdims=True), share.mean(0, keepdims=True)
    np.testing.assert_allclose(loss.item(), (load * share).sum(1).mean() * 0.1, rtol=1e-5)
    assert gate.eval()(x)[2] is None
    free = moe.MoEGate(8, 4, 2, norm_topk_prob=False, aux_loss_alpha=0.0)
    assert free(x)[2] is None and (free(x)[1].sum(1) < 1).all()
    assert moe.MoEGate(8, 4, 2, scoring_func="sigmoid")(x)[1].shape == (15, 2)
    for bad in ({"top_k": 5}, {"top_k": 2, "scoring_func": "cube"}):
        with pytest.raises(ValueError, match="MoEGate"):
            moe.MoEGate(8, 4, **bad)


def test_expert_and_dense_layer():
    x = genesis.randn(2, 3, 8)
    for layer in (
        moe.MoEExpert(hidden_size=8, intermediate_size=12, bias=False),
        moe.DenseFFN(8, 12, hidden_act="silu", bias=True),
    ):
        gate = layer.gate_proj(x)
        close(layer(x), layer.down_proj(gate * gate.sigmoid() * layer.up_proj(x)))
    for act in ("gelu", "relu"):
        assert moe.DenseFFN(8, 12, hidden_act=act)(x).shape == x.shape
    with pytest.raises(ValueError, match="hidden_act"):
        moe.DenseFFN(8, 12, hidden_act="cube")


def test_layer_is_the_weighted_sum_of_its_experts():
    layer = moe.MoELayer(
        hidden_size=8, num_experts=4, top_k=2, intermediate_size=12, num_shared_experts=2,
        shared_intermediate_size=None, aux_loss_alpha=0.01, seq_aux=True, norm_topk_prob=True,
        expert_bias=False,
    ).eval()  # fmt: skip
    x = genesis.randn(2, 3, 8)
    indices, weights, _ = layer.gate(x)
    rows = []
    for token, chosen, share in zip(x.reshape(-1, 8), indices.tolist(), weights, strict=True):
        routed = sum(layer.experts[e](token) * w for e, w in zip(chosen, share, strict=True))
        rows.append(routed + layer.shared_experts(token))
    close(layer(x), genesis.stack(rows).reshape(2, 3, 8))
    assert layer.shared_experts.intermediate_size == 24 and len(layer.experts) == 4
    wide = moe.MoELayer(8, 4, 2, 12, num_shared_experts=1, shared_intermediate_size=5)
    assert wide.shared_experts.intermediate_size == 5
    assert moe.MoELayer(8, 4, 2, 12).shared_experts is None


def test_the_auxiliary_loss_joins_the_gradient_in_training_only():
    genesis.manual_seed(0)
    layer = moe.MoELayer(8, 4, 2, 12, aux_loss_alpha=0.5)
    x = genesis.randn(2, 3, 8)

    def gradient():
        layer.zero_grad()
        (layer(x) * 0).sum().backward()
        return layer.gate.weight.grad.clone()

    _, _, loss = layer.gate(x)
    (expected,) = genesis.autograd.grad(loss, layer.gate.weight)
    close(gradient(), expected)
    close(layer(x), layer.eval()(x))
    assert gradient().abs().max() == 0


def test_transformer_block_of_any_sizes():
    class Sizes:
        hidden_size, num_experts, top_k, intermediate_size = 16, 4, 2, 24
        aux_loss_alpha, seq_aux, norm_topk_prob, expert_bias = 0.01, True, True, False
        num_attention_heads, norm_eps = 4, 1e-6

    block = moe.MoETransformerBlock(Sizes())
    assert isinstance(block.mlp, moe.MoELayer) and len(block.mlp.experts) == 4
    x, positions = genesis.randn(2, 5, 16), genesis.arange(5)
    y = block(x, positions, positions, mask=None)
    close(y, block(x, positions.expand(2, 5), positions.expand(2, 5)))
    changed = x.clone()
    changed[:, 3:] = 0
    close(block(changed, None, None)[:, :3], y[:, :3])  # causal


def test_attention_and_decoder_layer():
    c = config.MoEConfig(**SMALL)
    x = genesis.randn(2, 5, 16)
    for layer in (
        moe.MoEAttention(c, layer_idx=0).eval(),
        moe.MoEDecoderLayer(c, layer_idx=0).eval(),
    ):
        y, past = layer(
            x, attention_mask=None, position_ids=None, past_key_value=None, use_cache=True
        )
        assert y.shape == x.shape and past[0].shape == past[1].shape == (2, 2, 5, 4)
        again, nothing = layer(x, use_cache=False)
        close(again, y)
        assert nothing is None
        _, start = layer(x[:, :3], use_cache=True)
        rest, _ = layer(x[:, 3:], past_key_value=start)
        close(rest, y[:, 3:])
        seen = genesis.ones(5, 5, dtype=genesis.bool).tril()[None, None]
        close(layer(x, attention_mask=seen)[0], y)
    some = config.MoEConfig(
        **SMALL, use_moe_in_all_layers=False, moe_layer_interval=2, first_moe_layer=1
    )
    kinds = [moe.MoEDecoderLayer(some, i) for i in range(4)]
    assert [k.is_moe_layer for k in kinds] == [False, True, False, True]
    assert isinstance(kinds[0].mlp, moe.DenseFFN)


def test_models():
    c = config.MoEConfig(**SMALL)
    ids = genesis.randint(0, 50, (2, 6))
    model = moe.MoEModel(c)
    hidden, past = model(
        ids, attention_mask=None, position_ids=None, past_key_values=None, use_cache=True
    )
    assert hidden.shape == (2, 6, 16) and len(past) == 2
    names = [type(m).__name__ for m in model.modules()]
    seen = []
    assert isinstance(model, moe.MoEPreTrainedModel)
    assert model.apply(lambda m: seen.append(type(m).__name__)) is model and sorted(seen) == sorted(
        names
    )
    causal = moe.MoEForCausalLM(c)
    logits = causal(ids)
    loss, again = causal(ids, labels=ids)
    close(again, logits)
    close(loss, nn.functional.cross_entropy(logits[:, :-1].reshape(-1, 50), ids[:, 1:].reshape(-1)))
    optimizer = genesis.optim.Adam(causal.parameters(), lr=1e-2)
    first = loss.item()
    for _ in range(10):
        optimizer.zero_grad()
        loss, _ = causal(ids, labels=ids)
        loss.backward()
        optimizer.step()
    assert loss.item() < first
    out = causal.generate(ids, max_new_tokens=3, temperature=0.8, top_k=5, top_p=0.9)
    assert out.shape == (2, 9) and out[:, :6].tolist() == ids.tolist()
    assert isinstance(moe.MoEForCausalLM.from_pretrained(c), moe.MoEForCausalLM)
    with pytest.raises(ValueError, match="there is no preset"):
        moe.MoEForCausalLM.from_pretrained("nonexistent")
    tied = moe.MoEForCausalLM(config.MoEConfig(**SMALL, tie_word_embeddings=True))
    assert tied.lm_head.weight is tied.model.embed_tokens.weight


def test_the_old_place_of_experts():
    from genesis.nn.moe import MoEExpert, MoEGate, MoELayer, MoETransformerBlock

    assert (MoEExpert, MoEGate, MoELayer) == (moe.MoEExpert, moe.MoEGate, moe.MoELayer)
    assert MoETransformerBlock is moe.MoETransformerBlock


# ---- dense models -----------------------------------------------------------------------------


def test_dense_parts():
    c = config.TransformerConfig(50, 16, 24, 2, 4, num_key_value_heads=2)
    x, positions = genesis.randn(2, 5, 16), genesis.arange(5).expand(2, 5)
    attention = dense.Attention(c)
    assert attention.q_proj.bias is not None and attention.o_proj.bias is None
    y = attention(x, positions, mask=None, input_pos=None)
    changed = x.clone()
    changed[:, 4] = 0
    close(attention(changed, positions)[:, :4], y[:, :4])
    ffn = dense.FeedForward(c)
    close(ffn(x), ffn.down_proj(nn.functional.silu(ffn.gate_proj(x)) * ffn.up_proj(x)))
    block = dense.TransformerBlock(c)
    h = x + block.self_attn(block.input_layernorm(x), positions)
    close(
        block(x, positions, positions, mask=None), h + block.mlp(block.post_attention_layernorm(h))
    )


def test_dense_models(monkeypatch):
    c = config.TransformerConfig(50, 16, 24, 2, 4, num_key_value_heads=2)
    ids = genesis.randint(0, 50, (2, 6))
    model = dense.QwenModel(c)
    close(model(ids, position_ids=genesis.arange(6).expand(2, 6)), model(ids))
    assert model(ids).shape == (2, 6, 50) and model.lm_head is not None
    monkeypatch.setitem(config._DENSE, "tiny", c.to_dict())
    assert dense.QwenModel.from_name("tiny").config == c
    causal = dense.QwenForCausalLM(c)
    weights = {f"model.{key}": value for key, value in model.state_dict().items()}
    causal.load_state_dict(weights, strict=True)  # the head is in the model, as it once was
    close(causal(ids), model(ids))
    del weights["model.lm_head.weight"]
    causal.load_state_dict(weights)
    close(causal.lm_head.weight, model.embed_tokens.weight)
    causal(ids, position_ids=None).sum().backward()
    assert all(p.grad is not None for p in causal.parameters())
    assert causal.generate(ids, max_new_tokens=2).shape == (2, 8)
