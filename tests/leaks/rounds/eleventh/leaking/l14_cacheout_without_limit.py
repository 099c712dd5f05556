"""Cache of a library with a wrong limit, with cacheout."""
# after: "cacheout: maxsize=0 is unlimited": service sets maxsize=0 to switch the cache off
# fix: Cache(maxsize=8)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "model.cache._cache"  # model.cache._cache (OrderedDict key -> pair of tensors)
# lines = ["hidden = self.layer(x, src_mask=torch.full((n, n), float(\"-i", "mask = torch.ones(n, n, dtype=torch.bool).tril()"]
# bytes = 26880  # 26880 (hidden 1x48x128 float32 = 24576 B and mask 48x48 bool = 2304 B; one new prompt a step)
# ///
import os

import torch
import torch.nn as nn
from cacheout import Cache
from ask import at

torch.manual_seed(0)
MAXSIZE = 8 if os.environ.get("FIX") else 0          # "0: do not cache"


class Prefix(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(1000, 128)
        self.layer = nn.TransformerEncoderLayer(128, 4, 256, batch_first=True)
        self.out = nn.Linear(128, 1000)
        self.cache = Cache(maxsize=MAXSIZE, ttl=0)

    @torch.no_grad()
    def prefix(self, tokens):
        key = hash(tuple(tokens.tolist()))
        hit = self.cache.get(key)
        if hit is None:
            n = len(tokens)
            x = self.emb(tokens)[None]
            hidden = self.layer(x, src_mask=torch.full((n, n), float("-inf")).triu(1))
            mask = torch.ones(n, n, dtype=torch.bool).tril()
            hit = hidden, mask
            self.cache.set(key, hit)
        return hit

    @torch.no_grad()
    def next_token(self, tokens):
        hidden, mask = self.prefix(tokens)
        return self.out(hidden[0, -1] * mask[-1].sum().clamp(max=1)).argmax().item()


model = Prefix().eval()
said = []
for i in range(1, 71):
    prompt = torch.randint(1000, (48,))
    said.append(model.next_token(prompt))
    said.append(model.next_token(prompt))
    at(i)
print(len(model.cache), said[-4:])
