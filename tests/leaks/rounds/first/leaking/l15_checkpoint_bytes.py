"""Checkpoints are serialized into memory and kept for an undo."""
# after: ray-project/ray (tune) and facebookresearch/fairseq: reports on checkpoints in memory
# fix: collections.deque(maxlen=3), or files
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "undo.states"
# lines = ["self.states.append(buffer.getvalue())", "torch.save(model.state_dict(), buffer)"]
# bytes = 133925  # 256 x 128 floats and 256, and about 1.5 KB of zip and pickle: Python's bytes
# ///
import io
import torch
from torch import nn

torch.manual_seed(0)


class Undo:
    def __init__(self):
        self.states = []

    def remember(self, model):
        buffer = io.BytesIO()
        torch.save(model.state_dict(), buffer)
        self.states.append(buffer.getvalue())

    def back(self, model):
        model.load_state_dict(torch.load(io.BytesIO(self.states[-1])))


model = nn.Linear(128, 256)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
undo = Undo()
last = float("inf")
for step in range(66):
    undo.remember(model)
    loss = model(torch.randn(64, 128)).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if loss.item() > 10 * last:
        undo.back(model)
    last = loss.item()
print("states", len(undo.states), "bytes", len(undo.states[0]))
