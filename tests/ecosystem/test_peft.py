"""peft: LoRA on a small GPT-2."""

import peft
import torch
import transformers

from .helpers import fill, train

IDS = torch.tensor([[5, 17, 3, 42, 8]])


def test_lora(check):
    config = transformers.GPT2Config(n_embd=32, n_layer=2, n_head=2, vocab_size=100, n_positions=64)
    model = fill(transformers.GPT2LMHeadModel(config))
    lora = peft.LoraConfig(
        r=4, lora_alpha=8, target_modules=["c_attn"], lora_dropout=0.0, fan_in_fan_out=True
    )
    model = peft.get_peft_model(model, lora).eval()
    with torch.no_grad():
        for i, (name, p) in enumerate(model.named_parameters()):
            if "lora_" in name:
                p.copy_(
                    torch.sin(torch.arange(p.numel()).double() + i).float().reshape(p.shape) * 0.1
                )
    losses = train(model, lambda: model(input_ids=IDS, labels=IDS).loss, lr=0.1)
    merged = model.merge_and_unload()
    check(losses=losses, logits=merged(IDS).logits)
