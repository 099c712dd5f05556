"""Native memory (Rust) behind small Python objects in a dict, with tokenizers."""
# after: "RAM grows while tokenizing on the fly": Encodings kept in a dict by document
# fix: keep encoding.ids as an array, or do not keep
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "encoded"  # encoded (dict of lists of Encoding)
# lines = []
# bytes = 386085  # by malloc (PYTHONMALLOC=malloc)
# ///
import os
import random
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import nn

torch.manual_seed(0)
random.seed(0)
vocab = ["".join(random.choices("abcdefghij", k=random.randint(2, 8))) for _ in range(2000)]
tok = Tokenizer(models.BPE(unk_token="[UNK]"))
tok.pre_tokenizer = pre_tokenizers.Whitespace()
tok.train_from_iterator([" ".join(vocab)], trainers.BpeTrainer(vocab_size=600, special_tokens=["[UNK]"], show_progress=False))
bag = nn.EmbeddingBag(600, 64)
head = nn.Linear(64, 2)
opt = torch.optim.Adam([*bag.parameters(), *head.parameters()], lr=1e-3)
encoded = {}
for step in range(64):
    docs = [" ".join(random.choices(vocab, k=400)) for _ in range(4)]
    encs = tok.encode_batch(docs)
    if not os.environ.get("FIX"):
        encoded[step] = encs
    ids = [torch.tensor(e.ids) for e in encs]
    offsets = torch.tensor([0] + [len(t) for t in ids[:-1]]).cumsum(0)
    loss = nn.functional.cross_entropy(head(bag(torch.cat(ids), offsets)), torch.randint(0, 2, (4,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
