"""A mock in place of a tracker keeps the arguments of every call, in three lists."""
# after: python/cpython: unittest.mock, in the tests of a training library
# fix: tracker.reset_mock() each epoch, or a stub function: tracker = types.SimpleNamespace(log_histogram=lambda *a, **k: None)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holders = ["call_args_list", "method_calls", "mock_calls"]
# lines = ["probs = logits.softmax(-1)"]
# bytes = 65536  # 128 x 128 floats; all three lists have to go
# ///
import torch
from unittest.mock import MagicMock

torch.manual_seed(0)
torch.set_num_threads(1)

tracker = MagicMock(name="tracker")


def train_step(model, opt, step):
    x, y = torch.randn(128, 32), torch.randint(0, 128, (128,))
    logits = model(x)
    probs = logits.softmax(-1)
    loss = torch.nn.functional.nll_loss(probs.clamp_min(1e-9).log(), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    tracker.log_histogram("probs", probs.detach(), step=step)
    tracker.log_scalar("loss", loss.item(), step=step)


model = torch.nn.Linear(32, 128)
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(66):
    train_step(model, opt, step)
print(tracker.log_histogram.call_count, "histograms")
