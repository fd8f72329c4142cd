"""x-transformers: a decoder that is trained and generates."""

import torch
import x_transformers

from .helpers import fill, same_after_saving, train


def test_decoder(check, tmp_path):
    net = fill(
        x_transformers.TransformerWrapper(
            num_tokens=50,
            max_seq_len=32,
            attn_layers=x_transformers.Decoder(dim=16, depth=2, heads=2, attn_dim_head=8),
        )
    ).eval()
    model = x_transformers.AutoregressiveWrapper(net)
    ids = torch.tensor([[3, 9, 27, 31, 43, 29, 37, 11]])
    losses = train(model, lambda: model(ids))
    tokens = model.generate(ids[:, :3], 4, temperature=0.0)
    check(1e-3, losses=losses, logits=net(ids), tokens=tokens)
    same_after_saving(net, tmp_path)
