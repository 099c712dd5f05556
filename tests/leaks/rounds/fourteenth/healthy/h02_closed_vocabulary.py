"""FreqDist of bigrams over a closed vocabulary of 24 words (576 bigrams at most): full by step 5; later only the counts change."""
# looks like: a library dict that is updated for ever
# library: nltk
# /// healthy
# dumps = "steps"
# ///
import random
import nltk
import torch
from torch import nn

random.seed(0)
torch.manual_seed(0)
words = [f"w{i}" for i in range(24)]
counts = nltk.FreqDist()
embed, head = nn.EmbeddingBag(24, 64), nn.Linear(64, 2)
optimizer = torch.optim.Adagrad([*embed.parameters(), *head.parameters()], lr=0.05)
for step in range(1, 161):
    rows = []
    for _ in range(24):
        tokens = random.choices(words, k=40)
        counts.update(nltk.bigrams(tokens))
        rows.append([int(t[1:]) for t in tokens])
    y = torch.randint(0, 2, (24,))
    loss = nn.functional.cross_entropy(head(embed(torch.tensor(rows))), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(counts), counts.most_common(1))
