"""Both lists are cleared after each report at steps 10, 20, ..., 70 (dumps at 20, 40, 60 are taken at the same phase, before the report: 10 steps of text)."""
# report: "hypotheses and references pile up" (corpus BLEU over the last ten steps)
# library: sacrebleu
# /// healthy
# dumps = "steps"
# ///
import random

import sacrebleu
import torch
import torch.nn as nn

torch.manual_seed(0)
random.seed(0)
words = [f"w{i}" for i in range(300)]
emb, out = nn.Embedding(300, 32), nn.Linear(32, 300)
opt = torch.optim.Adam([*emb.parameters(), *out.parameters()], lr=1e-2)
hyps, refs = [], []
for step in range(1, 71):
    ids = torch.randint(0, 300, (16, 12))
    logits = out(emb(ids))
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), ids.flatten())
    opt.zero_grad()
    loss.backward()
    opt.step()
    for h, r in zip(logits.argmax(-1).tolist(), ids.tolist()):
        hyps.append(" ".join(words[k] for k in h))
        refs.append(" ".join(words[k] for k in r))
    if step % 10 == 0:
        print(step, round(sacrebleu.corpus_bleu(hyps, [refs], tokenize="none").score, 1))
        hyps.clear()
        refs.clear()
