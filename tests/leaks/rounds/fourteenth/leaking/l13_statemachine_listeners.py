"""Listeners inside python-statemachine's registry."""
# after: a listener per step is added to a state machine, never removed
# fix: one Report that is used again (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["phase._listeners", "phase._callbacks"]  # phase (its _listeners / callbacks registry): StateMachine.add_listener's entries, Report.predictions; correction: both have each Report, clearing one of them frees nothing
# lines = ["out = model(x)"]
# bytes = 30720  # 30,720 (256x30x4); malloc 31,300
# ///
import os
import torch
from statemachine import State, StateMachine
from torch import nn

torch.manual_seed(0)


class Phase(StateMachine):
    training = State(initial=True)
    validating = State()
    validate = training.to(validating)
    resume = validating.to(training)


class Report:
    def __init__(self, step, predictions):
        self.step, self.predictions, self.done = step, predictions, False

    def after_validate(self):
        if not self.done:
            self.done = True
            self.score = self.predictions.std().item()


model = nn.Sequential(nn.Linear(30, 120), nn.ReLU(), nn.Linear(120, 30))
optimizer = torch.optim.Adam(model.parameters())
phase = Phase()
shared = None
for step in range(1, 81):
    x = torch.randn(256, 30)
    out = model(x)
    loss = (out - x).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if os.environ.get("FIX") and shared is not None:
        shared.step, shared.predictions, shared.done = step, out.detach(), False
    else:
        shared = Report(step, out.detach())
        phase.add_listener(shared)
    phase.send("validate")
    phase.send("resume")
print(phase.current_state.id if hasattr(phase, "current_state") else phase, shared.score)
