"""Each answer keeps the raw output of the model for debugging: logits and the key-value cache of the whole text."""
# generative-computing/mellea#544: fix: huggingface memory leak
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "context"
# lines = ["keys = torch.cat(", "values = torch.cat(", "logits = "]
# bytes = [32768, 36864]  # keys and values of 32 tokens x 2 layers x 64 floats, logits of 100
# ///
import sys

import torch
from torch import nn


class Answer:
    def __init__(self, text, output):
        self.text = text
        self._meta = {"hf_output": output}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.key, self.head = nn.Embedding(100, 64), nn.Linear(64, 64), nn.Linear(64, 100)

    @torch.no_grad()
    def generate(self, tokens=32):
        cache, x = [(torch.empty(0, 64), torch.empty(0, 64)) for _ in range(2)], self.embed(torch.tensor([1]))
        for _ in range(tokens):
            for layer, (keys, values) in enumerate(cache):
                keys = torch.cat([keys, self.key(x)])
                values = torch.cat([values, x])
                cache[layer] = keys, values
                x = (x @ keys.T).softmax(1) @ values
            logits = self.head(x)
        return {"logits": logits, "past_key_values": cache}


model = Model()
context = []
for line in sys.stdin:
    context.append(Answer(line, model.generate()))
    print(len(context), flush=True)
