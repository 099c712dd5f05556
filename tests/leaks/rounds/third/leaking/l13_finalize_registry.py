"""Workspaces are freed when the model dies, which lives on."""
# after: python/cpython: weakref.finalize holds its arguments
# fix: weakref.finalize(request_object, ...) or release the workspace at the end of the request (try/finally), or finalizer.detach()
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "finalize._registry"
# lines = ["self.buffer = torch.empty(rows, cols)"]
# bytes = 98304  # 96 x 256 floats
# ///
import weakref
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)


class Workspace:
    in_use = 0

    def __init__(self, rows, cols):
        self.buffer = torch.empty(rows, cols)
        Workspace.in_use += 1

    def release(self):
        self.buffer = None
        Workspace.in_use -= 1


class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = torch.nn.Linear(64, 256)

    @torch.no_grad()
    def score(self, x):
        ws = Workspace(x.shape[0], 256)
        weakref.finalize(self, Workspace.release, ws)
        torch.mm(x, self.proj.weight.t(), out=ws.buffer)
        return ws.buffer.relu_().sum(1).max().item()


model = Scorer()
best = 0.0
for step in range(1, 67):
    best = max(best, model.score(torch.randn(96, 64)))
    at(step)
print(round(best, 3))
