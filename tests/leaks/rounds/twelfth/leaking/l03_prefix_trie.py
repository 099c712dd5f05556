"""Trie of prefixes with their keys and values, with pygtrie."""
# after: "prefix cache of key/values never evicts, host RAM full after some thousand requests" (LLM servers' prefix caching issues)
# fix: evict the oldest prefixes above 16 (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache", "process-memory"]
# holder = "server.prefixes"  # `server.prefixes` (pygtrie.Trie)
# lines = ["full = torch.cat([kv, new]) if done else new.clone()"]
# bytes = [30720, 37888]  # 60 x 128 x 4 = 30 KiB of tensor storages (measured 30.0); 37 KiB allocated bytes with the nodes of the trie
# ///
import os
from collections import deque

import pygtrie
import torch
import torch.nn as nn

from ask import at

torch.manual_seed(0)


class Server:
    def __init__(self):
        self.emb = nn.Embedding(500, 64)
        self.kv = nn.Linear(64, 128)
        self.prefixes = pygtrie.Trie()
        self.order = deque()

    @torch.no_grad()
    def prefill(self, tokens):
        hit, kv = self.prefixes.longest_prefix(tokens) or (None, None)
        done = len(hit) if hit else 0
        h = self.emb(torch.tensor(tokens[done:]))
        new = self.kv(h)
        full = torch.cat([kv, new]) if done else new.clone()
        self.prefixes[tokens] = full
        self.order.append(tokens)
        if os.environ.get("FIX") and len(self.order) > 16:
            del self.prefixes[self.order.popleft()]
        return full.mean()


server = Server()
system = tuple(range(20))
server.prefill(system)
for i in range(1, 71):
    prompt = system + tuple(torch.randint(0, 500, (40,)).tolist())
    score = server.prefill(prompt)
    at(i)
print(float(score))
