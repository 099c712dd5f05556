"""The tokenizer's own cache of words is bounded (and the vocabulary of words is finite); padding changes from step to step; nothing is kept."""
# looks like: native memory (Rust) that warms up in the first steps; batches of very different lengths
# library: tokenizers
# /// healthy
# dumps = "steps"
# ///
import random
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch import nn

torch.manual_seed(0)
random.seed(0)
vocab = ["".join(random.choices("abcdefghij", k=random.randint(2, 8))) for _ in range(3000)]
tok = Tokenizer(models.BPE(unk_token="[UNK]"))
tok.pre_tokenizer = pre_tokenizers.Whitespace()
tok.train_from_iterator([" ".join(vocab)], trainers.BpeTrainer(vocab_size=800, special_tokens=["[UNK]"], show_progress=False))
tok.enable_padding()
emb = nn.Embedding(800, 32)
gru = nn.GRU(32, 64, batch_first=True)
head = nn.Linear(64, 2)
opt = torch.optim.Adam([*emb.parameters(), *gru.parameters(), *head.parameters()], lr=1e-3)
for step in range(64):
    n = random.choice([20, 50, 80, 120])
    encs = tok.encode_batch([" ".join(random.choices(vocab, k=random.randint(5, n))) for _ in range(16)])
    ids = torch.tensor([e.ids for e in encs])
    out, _ = gru(emb(ids))
    loss = nn.functional.cross_entropy(head(out[:, -1]), torch.randint(0, 2, (16,)))
    opt.zero_grad()
    loss.backward()
    opt.step()
