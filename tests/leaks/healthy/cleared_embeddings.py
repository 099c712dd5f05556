"""Sentences of the corpus have embeddings while they are in a batch, which are cleared after it."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class Sentence:
    def __init__(self):
        self.numbers, self.embedding = torch.randint(100, (12,)).tolist(), None

    def clear_embeddings(self):
        self.embedding = None


corpus = [Sentence() for _ in range(240)]
words, tagger = nn.Embedding(100, 128), nn.Linear(128, 8)
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
for step in range(60):
    batch = corpus[4 * step:4 * step + 4]
    for sentence in batch:
        with torch.no_grad():
            sentence.embedding = words(torch.tensor(sentence.numbers))
    loss = tagger(torch.stack([sentence.embedding for sentence in batch])).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for sentence in batch:
        sentence.clear_embeddings()
