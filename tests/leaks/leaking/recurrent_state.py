"""Chat with a recurrent model outside no_grad: the state that each answer returns brings along all graphs before it."""
# huggingface/transformers#26588: RWKV's "RNN mode" results in unchecked memory growth, causing OOM
# huggingface/transformers#23687: [RWKV] Inference memory leak unless use_cache=False is specified
# /// leak
# dumps = "requests"
# kinds = ["state-not-detached", "accumulated-graph"]
# holder = "state"
# lines = ["state[i] = ", "receptance = torch.sigmoid(", "x = x + "]
# bytes = [4096, 40000]  # 2 layers: 8 x 64 floats for each of the tensors that their graphs save
# ///
import sys

import torch
from torch import nn


class Rwkv(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 64)
        self.keys = nn.ModuleList(nn.Linear(64, 64) for _ in range(2))
        self.gates = nn.ModuleList(nn.Linear(64, 64) for _ in range(2))

    def forward(self, ids, state=None):
        x = self.embed(ids)
        state = [torch.zeros(8, 64)] * 2 if state is None else list(state)
        for i, (key, gate) in enumerate(zip(self.keys, self.gates)):
            receptance = torch.sigmoid(gate(x))
            state[i] = 0.9 * state[i] + key(x)
            x = x + receptance * state[i]
        return x, state


model = Rwkv()
state = None
for line in sys.stdin:
    output, state = model(torch.randint(50, (8,)), state)
    print(output.mean().item(), flush=True)
