"""Exception with traceback."""
# after: forum "skipped batches leak: I keep the exceptions for a summary" (traceback -> frame -> locals)
# fix: failures.append(str(e)) (FIX)
# /// leak
# dumps = "steps"
# kinds = ["traceback", "container", "module-cache"]
# holder = "failures"  # `failures` (list of exceptions; __traceback__ -> frame of train_step: `x`, `hidden`)
# lines = ["hidden = net(x).tanh()"]
# bytes = 20610  # x 64 x 64 x 4 = 16384 and hidden 64 x 96 x 4 = 24576 with its graph (saves x; tanh's result is hidden): measured 20610 a step by gc = 41220 every second step: x 16384, hidden 24576, head's result 256, loss 4 (every second step)
# ///
import os
import torch

torch.manual_seed(0)
net = torch.nn.Linear(64, 96)
head = torch.nn.Linear(96, 1)
opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.01)
failures = []


def train_step(step):
    x = torch.randn(64, 64)
    hidden = net(x).tanh()  # LEAK
    loss = (head(hidden) - 1).pow(2).mean()
    if step % 2:
        raise FloatingPointError("loss is not finite in step %d" % step)
    opt.zero_grad()
    loss.backward()


for step in range(70):
    try:
        train_step(step)
    except FloatingPointError as e:
        failures.append(str(e) if os.environ.get("FIX") else e)
    opt.step()
print(len(failures))
