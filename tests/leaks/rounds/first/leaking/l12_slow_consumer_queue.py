"""A thread that logs is slower than training, and its queue has no limit: two entries a step go in, one comes out."""
# after: wandb, mlflow and the like: pattern of asynchronous loggers
# fix: queue.Queue(maxsize=...) (or a faster consumer / drop entries when full)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "log_queue"
# lines = ["acts = model(x).relu()", 'log_queue.put(("grad", model.weight.grad.clone()))']
# bytes = 65536  # 128 x 128 floats; the oldest entries are taken first
# ///
import queue
import threading
import torch
from torch import nn

torch.manual_seed(0)
log_queue = queue.Queue()
tick = threading.Semaphore(0)
stats = {}


def logger():
    while True:
        tick.acquire()
        name, value = log_queue.get()
        stats[name] = value.norm().item()
        del value


threading.Thread(target=logger, daemon=True).start()
model = nn.Linear(128, 128)
opt = torch.optim.SGD(model.parameters(), lr=0.01)


def train_step():
    x = torch.randn(128, 128)
    acts = model(x).relu()
    loss = acts.square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    log_queue.put(("acts", acts.detach()))
    log_queue.put(("grad", model.weight.grad.clone()))
    tick.release()


for step in range(66):
    train_step()
print("backlog", log_queue.qsize(), sorted(stats))
