"""An experiment whose run keeps the attention of every step in its `info` dictionary."""
# kind: Tracker of experiments; dict of a library; tensors, with sacred.
# after: "Memory grows when storing arrays in _run.info" (Sacred)
# fix: store the entropy (a float) instead (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "info['attention']"  # `ex.current_run.info['attention']` (= `_run.info['attention']`)
# lines = ["y, weights = mha(x, x, x, average_attn_weights=False)"]
# bytes = 131072  # 8 x 4 x 32 x 32 float32 = 131072 a step; measured 128.0 KiB
# ///
import os

import torch
from sacred import Experiment, SETTINGS
from torch import nn

SETTINGS.CAPTURE_MODE = "no"
SETTINGS.HOST_INFO.INCLUDE_GPU_INFO = False
ex = Experiment("attention_probe", save_git_info=False)


@ex.config
def config():
    steps = 80
    lr = 1e-3
    seed = 7


@ex.automain
def main(_run, steps, lr):
    torch.manual_seed(0)
    emb = nn.Embedding(500, 64)
    mha = nn.MultiheadAttention(64, 4, batch_first=True)
    head = nn.Linear(64, 500)
    params = [*emb.parameters(), *mha.parameters(), *head.parameters()]
    opt = torch.optim.AdamW(params, lr=lr)
    _run.info["attention"] = []
    for step in range(steps):
        tokens = torch.randint(500, (8, 32))
        x = emb(tokens)
        y, weights = mha(x, x, x, average_attn_weights=False)
        loss = nn.functional.cross_entropy(head(y).flatten(0, 1), tokens.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if os.environ.get("FIX"):
            w = weights.detach()
            _run.info["attention"].append(float(-(w * w.log()).sum(-1).mean()))
        else:
            _run.info["attention"].append(weights.detach())
        _run.log_scalar("loss", loss.item(), step)
    return loss.item()
