"""Outside tensors as numpy arrays (numpy copies); deepdiff."""
# after: audit log keeps DeepDiff objects, which keep both sides (t1, t2)
# fix: audit.changes.append(diff.to_dict()) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "audit.changes"  # audit.changes (each DeepDiff's t1, t2 [and tree])
# lines = []
# bytes = 73343  # 65,536 (128x128x4, the numpy copy 'activations'); malloc 67,700; correction: 73,343 with the Python objects that only it reaches
# ///
import os
import torch
from deepdiff import DeepDiff
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 8))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


class Audit:
    """Which summary values of a run changed, step by step."""

    def __init__(self):
        self.previous = None
        self.changes = []

    def record(self, state):
        if self.previous is not None:
            diff = DeepDiff(self.previous, state, exclude_paths=["root['activations']"], significant_digits=4)
            self.changes.append(diff.to_dict() if os.environ.get("FIX") else diff)
        self.previous = state


audit = Audit()
for step in range(1, 151):
    x = torch.randn(128, 64)
    hidden = model[1](model[0](x))
    loss = model[2](hidden).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    audit.record({"step": step, "loss": loss.item(), "activations": hidden.detach().numpy().copy()})
print(len(audit.changes), "changes")
