"""List of nested tensors (jagged layout), with torch.nested."""
# after: issue "NestedTensor: memory not freed": batches of sequences of different lengths are kept in a bank for hard negatives; only the last ones are used
# fix: del self.bank[:-4]
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "miner.bank"  # miner.bank (list)
# lines = ["miner.add(torch.nested.nested_tensor(parts, layout=torch.jag"]
# bytes = 32840  # 256 x 32 float32 and 9 int64 offsets; storages
# ///
import os

import torch
import torch.nn as nn


class Miner:
    def __init__(self):
        self.bank = []

    def add(self, states):
        self.bank.append(states)
        if os.environ.get("FIX"):
            del self.bank[:-4]

    def hard(self):
        return self.bank[-1].values()[:32]


torch.manual_seed(0)
embed = nn.Embedding(500, 32)
mix = nn.Linear(32, 32)
opt = torch.optim.Adam([*embed.parameters(), *mix.parameters()], lr=1e-3)
miner = Miner()
lengths = [20, 35, 50, 15, 40, 40, 30, 26]  # 256 tokens a batch
for step in range(70):
    sequences = [torch.randint(0, 500, (n,)) for n in lengths]
    batch = torch.cat(sequences)
    out = mix(embed(batch))
    anchor = out[:32]
    loss = out.pow(2).mean()
    if miner.bank:
        loss = loss + torch.cosine_similarity(anchor, miner.hard()).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    parts = list(out.detach().split(lengths))
    miner.add(torch.nested.nested_tensor(parts, layout=torch.jagged))
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
