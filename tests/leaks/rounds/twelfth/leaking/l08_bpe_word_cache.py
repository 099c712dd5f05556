"""Text in a dict inside a library, with subword-nmt."""
# after: "apply_bpe memory usage keeps growing on large corpora" (subword-nmt: BPE.cache has every word ever seen)
# fix: bpe.cache.clear() above 500 words (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "bpe.cache"  # `bpe.cache` (dict word -> tuple of subwords)
# lines = []
# bytes = 28262  # about 29 to 32 KiB (allocated bytes: 80 new words, their tuples of str), outside of tensors; correction: 27.6 KiB
# ///
import io
import os
import random

import torch
import torch.nn as nn
from subword_nmt.apply_bpe import BPE
from subword_nmt.learn_bpe import learn_bpe

random.seed(0)
torch.manual_seed(0)
letters = "etaoinshrdlu"


def word():
    return "".join(random.choice(letters) for _ in range(random.randint(6, 14)))


codes = io.StringIO()
learn_bpe(io.StringIO("\n".join(" ".join(word() for _ in range(20)) for _ in range(30))), codes, 60)
codes.seek(0)
bpe = BPE(codes)
vocab = {}
emb = nn.Embedding(600, 32)
out = nn.Linear(32, 2)
opt = torch.optim.Adam([*emb.parameters(), *out.parameters()], lr=1e-3)

for step in range(1, 71):
    batch = []
    for _ in range(8):
        line = " ".join(word() for _ in range(10))
        pieces = bpe.process_line(line).split()[:30]
        batch.append([vocab.setdefault(p, len(vocab) % 600) for p in pieces] + [0] * (30 - len(pieces)))
    if os.environ.get("FIX") and len(bpe.cache) > 500:
        bpe.cache.clear()
    loss = nn.functional.cross_entropy(out(emb(torch.tensor(batch)).mean(1)), torch.randint(0, 2, (8,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
print(len(bpe.cache), len(vocab))
