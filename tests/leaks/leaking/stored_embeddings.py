"""Sentences of the corpus keep their embeddings after the batch that they were in, to be used again in the next epoch."""
# flairNLP/flair#1274: GPU memory linear increasing until OOM when embedding storage mode is GPU
# flairNLP/flair#2663: CUDA oom with embeddings_storage_mode="cpu"
# flairNLP/flair#135: Training on PTB 3 POS task
# /// leak
# dumps = "steps"
# kinds = ["container", "small-view"]
# holder = "corpus"
# lines = ["states = self.lm("]
# bytes = [24576, 24900]  # 4 sentences of 12 tokens, 128 floats each
# ///
import torch
from torch import nn


class Token:
    def __init__(self, number):
        self.number, self.embedding = number, None


class Sentence:
    def __init__(self, length):
        self.tokens = [Token(torch.randint(100, ()).item()) for _ in range(length)]


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lm = nn.Embedding(100, 32), nn.Linear(32, 128)

    @torch.no_grad()
    def embed(self, sentences):
        numbers = torch.tensor([[token.number for token in sentence.tokens] for sentence in sentences])
        states = self.lm(self.words(numbers))
        for i, sentence in enumerate(sentences):
            for j, token in enumerate(sentence.tokens):
                if token.embedding is None:
                    token.embedding = states[i, j]


corpus = [Sentence(12) for _ in range(240)]
embeddings, tagger = Embeddings(), nn.Linear(128, 8)
optimizer = torch.optim.SGD(tagger.parameters(), lr=0.1)
for step in range(60):
    batch = corpus[4 * step:4 * step + 4]
    embeddings.embed(batch)
    loss = tagger(torch.stack([token.embedding for sentence in batch for token in sentence.tokens])).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
