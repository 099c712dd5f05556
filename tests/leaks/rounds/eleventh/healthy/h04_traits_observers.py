"""Every step makes a panel that observes the run with a bound method; traits keeps bound methods weakly, the panel ends with its step."""
# looks like: an observer is added in every step and never removed
# library: traits
# /// healthy
# dumps = "steps"
# ///
import torch
import torch.nn as nn
from traits.api import Float, HasTraits, Int

torch.manual_seed(0)


class Run(HasTraits):
    step = Int(0)
    loss = Float(0.0)


class Panel:
    def __init__(self, run, x):
        self.inputs, self.lines = x, []
        run.observe(self.on_loss, "loss")

    def on_loss(self, event):
        self.lines.append(f"{event.new:.3f} on {float(self.inputs.mean()):.3f}")


run = Run()
net = nn.Sequential(nn.Conv1d(8, 32, 5, padding=2), nn.ReLU(), nn.Conv1d(32, 8, 5, padding=2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
shown = []
for step in range(80):
    x = torch.randn(16, 8, 128)
    panel = Panel(run, x)
    loss = nn.functional.l1_loss(net(x), x.flip(2))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.trait_set(step=step, loss=loss.item())
    shown = (shown + panel.lines)[-5:]
print(shown[-1])
