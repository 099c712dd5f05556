"""Outside tensors: Python tuples and str in nltk.FreqDist (a dict)."""
# after: n-gram counts over an open vocabulary (identifiers)
# fix: prune counts to the 500 most common (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "counts"
# lines = []
# bytes = [163700, 229244]  # 164,000 to 229,000 (steps 40-60, 20-40; mean 196,000; the dict doubles now and then) of Python objects by sys.getsizeof: dict, tuples, words, counts; pymalloc's arenas, rss 163,000 to 268,000; correction: 229,244 from step 20 to 40, 163,700 from 40 to 60, 196,472 over both; clearing it after 60 steps frees 187,177 a step
# ///
import os
import random
import nltk
import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
counts = nltk.FreqDist()
embed = nn.EmbeddingBag(4096, 32)
head = nn.Linear(32, 2)
optimizer = torch.optim.Adagrad([*embed.parameters(), *head.parameters()], lr=0.05)


def document():
    """A log message as a crawler sees it: few words and many identifiers."""
    return " ".join(random.choice(["get", "put", "error"]) + f" id{random.getrandbits(40):x}" for _ in range(40))


def features(text):
    tokens = text.split()
    counts.update(nltk.bigrams(tokens))
    if os.environ.get("FIX") and len(counts) > 500:
        for key, _ in counts.most_common()[500:]:
            del counts[key]
    return [hash(t) % 4096 for t in tokens]


for step in range(1, 161):
    rows = [features(document()) for _ in range(16)]
    ids = torch.tensor(rows)
    y = torch.randint(0, 2, (16,))
    loss = nn.functional.cross_entropy(head(embed(ids)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("bigrams", len(counts))
