"""Registry of finalizers (class attribute of the standard library), with weakref."""
# after: "weakref.finalize arguments are kept alive": each evaluation registers a clean-up at the model with its own buffers as arguments
# fix: finalizer.detach() at the end of evaluate
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "finalize._registry"  # weakref.finalize._registry (values: _Info.args = (scratch,)); ends only with the model; correction: _Info.func (scratch.resize_) holds it, not _Info.args
# lines = ["scratch = torch.empty(128, 256)"]
# bytes = 131072  # 131072 (scratch 128x256 float32 = 131072 B)
# ///
import os
import weakref

import torch
import torch.nn as nn

torch.manual_seed(0)


class Evaluator:
    def __init__(self, model):
        self.model = model

    def evaluate(self, x):
        scratch = torch.empty(128, 256)
        finalizer = weakref.finalize(self.model, scratch.resize_, 0)
        with torch.no_grad():
            torch.matmul(x, self.model[0].weight.T, out=scratch)
            scratch += self.model[0].bias
            out = self.model[2](scratch.relu_()).argmax(1)
        if os.environ.get("FIX"):
            finalizer.detach()
        return out


model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
evaluator = Evaluator(model)
optimizer = torch.optim.NAdam(model.parameters(), lr=1e-3)
held_x, held_y = torch.randn(128, 64), torch.randint(10, (128,))
for step in range(80):
    x, y = torch.randn(64, 64), torch.randint(10, (64,))
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    accuracy = (evaluator.evaluate(held_x) == held_y).float().mean().item()
print(round(loss.item(), 3), round(accuracy, 3))
