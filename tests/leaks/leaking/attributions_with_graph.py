"""Attributions are input times gradient; the input part has a graph, and a report keeps them all."""
# meta-pytorch/captum#1347: Ensure autograd graphs are freed between attribute calls
# meta-pytorch/captum#866: [IntegratedGradients] Memory leaks when calculating IG and LIG
# /// leak
# dumps = "requests"
# kinds = ["container", "accumulated-graph"]
# holder = "report"
# lines = ["embedded = self.embed(", "return layer * gradient", "return embedded, self.classify(", "(gradient,) = "]
# bytes = [32768, 200000]  # 8 x 32 tokens x 32 floats: attributions, embeddings, gradient
# ///
import sys

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.classify = nn.Embedding(500, 32), nn.Linear(32, 2)

    def forward(self, ids):
        embedded = self.embed(ids)
        return embedded, self.classify(torch.tanh(embedded)).mean()


def attribute(model, ids):
    layer, score = model(ids)
    (gradient,) = torch.autograd.grad(score, layer, retain_graph=True)
    return layer * gradient


model = Model().eval()
report = {}
for line in sys.stdin:
    report[f"request {line.strip()}"] = attribute(model, torch.randint(500, (8, 32)))
    print(len(report), flush=True)
