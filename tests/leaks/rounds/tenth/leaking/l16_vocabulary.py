"""A text model that tokenizes with spaCy; names and ids in the logs are new words all the time, kept by the vocabulary."""
# kind: Text outside of tensors; C++/Cython object of a library (string store, lexemes), with spacy.
# after: "Memory grows with nlp.pipe: the StringStore and Vocab never forget" (spaCy issues)
# fix: `with nlp.memory_zone():` (spaCy >= 3.8) around each batch (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "nlp.vocab"  # `nlp.vocab` (`nlp.vocab.strings` and its lexemes), and `nlp.tokenizer`'s cache of tokens
# lines = []
# bytes = [80900, 123300]  # 250 new words a step; lexeme, string, hash table and tokenizer's cache: measured, uneven, as hash tables double: 82 and 26 KiB a step of malloc (20 to 40, 40 to 60; 125 and 13 afterwards), with Python's arenas resident memory grew 269, 105, 244, 52 KiB a step. The tokenizer's cache is full (10000) at step 40, the vocabulary has no limit; correction: malloc 82.0 and 25.7 KiB a step, Python's heap 79.9 and 53.2: 120.4 KiB a step from 20 to 60, 79 from 40
# ///
import contextlib
import os
import random

import spacy
import torch
from torch import nn

torch.set_num_threads(1)


def lines(rng, n=10, words=25):
    for _ in range(n):
        yield " ".join("%012x" % rng.getrandbits(48) for _ in range(words)) + " failed to open the file"


def features(nlp, texts):
    zone = nlp.memory_zone() if os.environ.get("FIX") else contextlib.nullcontext()
    with zone:
        ids, offsets = [], []
        for doc in nlp.pipe(texts):
            offsets.append(len(ids))
            ids.extend(t.orth % 1000 for t in doc)
    return torch.tensor(ids), torch.tensor(offsets)


def main():
    torch.manual_seed(0)
    rng = random.Random(1)
    nlp = spacy.blank("en")
    bag = nn.EmbeddingBag(1000, 32)
    head = nn.Linear(32, 2)
    opt = torch.optim.Adam([*bag.parameters(), *head.parameters()], lr=1e-3)
    for step in range(1, 101):
        ids, offsets = features(nlp, list(lines(rng)))
        loss = nn.functional.cross_entropy(head(bag(ids, offsets)), torch.randint(2, (10,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
    print("strings", len(nlp.vocab.strings), loss.item())


if __name__ == "__main__":
    main()
