"""Dict of exported programs, each with the example inputs it was made from, with torch.export."""
# after: "export the model for every new input length and keep the program: memory grows by more than the graphs" (torch.export)
# fix: export once, with the length as a dynamic dimension
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "programs"  # programs[<length>] (ExportedProgram: _example_inputs)
# lines = ["x = torch.randn(4, 39 + request, 64)"]
# bytes = [81000, 92200]  # length 40..130 (one more a step) * 64 * 4 * 4 B: 40 KiB at step 1, 79 KiB at step 40 of tensors, and the graph's Python objects; measured KiB a step (20 to 40, 40 to 60): storages of tensors 69.6, 89.6; all malloc'd 165.7, 185.1 (with FIX: 1.1, 1.1; 6.0, 5.9); correction: storages: 69.6 KiB a step from 20 to 40, 89.6 from 40 to 60; about 52 KiB a step outside tensors go with it
# ///
import os
import torch
from torch import nn
from ask import at

torch.manual_seed(0)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(64, 8)

    def forward(self, x):
        return torch.relu(self.proj(x)).sum((1, 2))


model = Scorer().eval()
programs = {}


def serve(x):
    length = "any" if os.environ.get("FIX") else x.shape[1]
    if length not in programs:
        dynamic = {"x": {1: torch.export.Dim("length", min=2, max=4096)}} if os.environ.get("FIX") else None
        programs[length] = torch.export.export(model, (x,), dynamic_shapes=dynamic)
    return programs[length].module()(x)


for request in range(1, 71):
    x = torch.randn(4, 39 + request, 64)
    score = serve(x)
    if request % 20 == 0:
        print(request, score.shape, flush=True)
    at(request)
