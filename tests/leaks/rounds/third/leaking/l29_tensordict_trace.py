"""A trace for debugging is one TensorDict that gets a new key in each step."""
# after: pytorch/tensordict: a trace
# fix: trace["last"] = ... (one key), or trace["steps"].del_(old)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holders = ["trace", "steps"]
# lines = ["hidden = torch.tanh(self.a(x))"]
# bytes = 53248  # 64 x 192 floats of hidden (49,152), 64 x 16 of logits
# ///
import torch
from tensordict import TensorDict
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

trace = TensorDict({"steps": TensorDict({}, [])}, [])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(32, 192), torch.nn.Linear(192, 16)

    def forward(self, x, step):
        hidden = torch.tanh(self.a(x))
        logits = self.b(hidden)
        trace["steps", f"{step:04d}"] = TensorDict({"hidden": hidden, "logits": logits}, [])
        return logits


net = Net().requires_grad_(False)
total = 0.0
for step in range(1, 67):
    total += net(torch.randn(64, 32), step).softmax(-1).max().item()
    at(step)
print(round(total, 3), len(trace["steps"].keys()))
