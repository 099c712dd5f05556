"""Keys and values of prompts' blocks in a tree by prefix, at its limit: the block that was unused for the longest time goes."""
# /// healthy
# dumps = "requests"
# ///
import random
import sys

import torch

LIMIT = 24


class Block:
    def __init__(self, parent, token):
        self.parent, self.token, self.children, self.used = parent, token, {}, 0
        self.keys, self.values = torch.randn(16, 128), torch.randn(16, 128)


class PrefixCache:
    def __init__(self):
        self.root, self.blocks = Block(None, None), []

    def extend(self, tokens, now):
        node = self.root
        for token in tokens:
            if token not in node.children:
                node.children[token] = Block(node, token)
                self.blocks.append(node.children[token])
            node = node.children[token]
            node.used = now
        while len(self.blocks) > LIMIT:
            self.evict()
        return node

    def evict(self):
        oldest = min((block for block in self.blocks if not block.children), key=lambda block: block.used)
        del oldest.parent.children[oldest.token]
        self.blocks.remove(oldest)


cache = PrefixCache()
random.seed(1)
for now, line in enumerate(sys.stdin):
    last = cache.extend([random.randrange(4) for _ in range(4)], now)
    print((last.keys @ last.values.T).mean().item(), flush=True)
