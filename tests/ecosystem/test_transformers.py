"""transformers: models, generation, save_pretrained and from_pretrained, Trainer."""

import pytest
import torch
import transformers

from .helpers import fill, train

IDS = torch.tensor([[5, 17, 3, 42, 8], [9, 1, 77, 2, 30]])
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}


def bert():
    config = transformers.BertConfig(vocab_size=100, **SMALL)
    return fill(transformers.BertModel(config)).eval()


def test_bert(check):
    model = bert()
    hidden = model(IDS, attention_mask=torch.ones_like(IDS)).last_hidden_state
    losses = train(model, lambda: model(IDS).last_hidden_state.square().mean())
    check(hidden=hidden, losses=losses)


def test_gpt2(check):
    config = transformers.GPT2Config(
        n_embd=32,
        n_layer=2,
        n_head=2,
        vocab_size=100,
        n_positions=64,
        bos_token_id=0,
        eos_token_id=99,
    )
    model = fill(transformers.GPT2LMHeadModel(config)).eval()
    losses = train(model, lambda: model(IDS, labels=IDS).loss)
    tokens = model.generate(IDS[:1], max_new_tokens=6, do_sample=False, pad_token_id=99)
    check(losses=losses, tokens=tokens)


def test_llama(check):
    config = transformers.LlamaConfig(vocab_size=100, num_key_value_heads=1, **SMALL)
    model = fill(transformers.LlamaForCausalLM(config)).eval()
    losses = train(model, lambda: model(IDS, labels=IDS).loss)
    tokens = model.generate(IDS[:1], max_new_tokens=6, do_sample=False, pad_token_id=0)
    check(losses=losses, tokens=tokens)


def test_t5(check):
    config = transformers.T5Config(
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        vocab_size=100,
        decoder_start_token_id=0,
    )
    model = fill(transformers.T5ForConditionalGeneration(config)).eval()
    losses = train(model, lambda: model(input_ids=IDS, labels=IDS).loss)
    tokens = model.generate(IDS[:1], max_new_tokens=5, num_beams=2)
    check(losses=losses, tokens=tokens)


def test_vit(check):
    config = transformers.ViTConfig(image_size=32, patch_size=8, **SMALL)
    model = fill(transformers.ViTModel(config)).eval()
    images = torch.linspace(-1, 1, 2 * 3 * 32 * 32).reshape(2, 3, 32, 32)
    hidden = model(images).last_hidden_state
    losses = train(model, lambda: model(images).last_hidden_state.square().mean())
    check(hidden=hidden, losses=losses)


def test_save_and_load(tmp_path):
    model = bert()
    model.save_pretrained(tmp_path)
    again = transformers.BertModel.from_pretrained(tmp_path).eval()
    assert torch.equal(model(IDS).last_hidden_state, again(IDS).last_hidden_state)


def test_trainer(tmp_path):
    config = transformers.BertConfig(vocab_size=100, num_labels=2, **SMALL)
    model = fill(transformers.BertForSequenceClassification(config))
    data = [{"input_ids": row, "labels": torch.tensor(i % 2)} for i, row in enumerate(IDS)]
    options = transformers.TrainingArguments(
        str(tmp_path),
        num_train_epochs=2,
        per_device_train_batch_size=2,
        report_to=[],
        use_cpu=True,
        save_strategy="epoch",
        logging_steps=1,
        disable_tqdm=True,
    )
    trainer = transformers.Trainer(model, options, train_dataset=data)
    result = trainer.train()
    assert result.global_step == 2
    assert result.training_loss == pytest.approx(result.training_loss)
    assert any(tmp_path.glob("checkpoint-*/model.safetensors"))
