"""An attribution hook keeps its input, and the backward function that it installs refers back to the hook."""
# chr5tphr/zennit#11: Memory Leak
# chr5tphr/zennit#13: Be more careful with tensor references in Hook
# /// leak
# dumps = "requests"
# kinds = ["reference-cycle", "graph-cycle"]
# holder = "RelevanceHook"
# lines = ["self.stored = ", "hidden = first(image)"]
# bytes = [65536, 262144]  # 64 x 256 floats for the input, its copy, and what the graph saves
# ///
import gc
import sys

import torch
from torch import nn

gc.disable()


class RelevanceHook:
    def forward(self, tensor):
        self.stored = tensor.clone()
        self.stored.hook = self
        return self.stored


first, second = nn.Linear(64, 256), nn.Linear(256, 10)
for line in sys.stdin:
    image = torch.randn(64, 64)
    hidden = first(image)
    relevance = second(RelevanceHook().forward(hidden))
    relevance.sum().backward()
    print(relevance.mean().item(), flush=True)
    del hidden, relevance
