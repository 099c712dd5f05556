"""A queue without limit; its consumer is ten times slower than the training."""
# kind: queue with a thread, with torch, queue
# after: "queue.Queue between trainer and logger grows" (consumer too slow)
# fix: queue.Queue(maxsize=4) with put_nowait, dropped when full (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "pending.queue"  # pending.queue (collections.deque of the Queue)
# lines = ["pending.put_nowait(model[0].weight.grad.clone())"]
# bytes = 44236  # 9 of 10 steps' gradients stay: 96x128x4 = 49152 a step, less 1/10 that is consumed: about 44240; measured, bytes a step in 20..40, 40..60: tensors that gc sees 44236,44236, malloc in use 44858,44742, rss 47308,44441; with FIX: malloc 280,72, rss 2867,-1638
# ///
import os
import queue
import threading
import torch
from torch import nn

torch.manual_seed(0)
pending = queue.Queue(maxsize=4 if os.environ.get("FIX") else 0)
turn = threading.Semaphore(0)
done = threading.Semaphore(0)


def consume():
    while True:
        turn.acquire()
        item = pending.get()
        float(torch.linalg.matrix_norm(item, "nuc"))
        del item
        done.release()


threading.Thread(target=consume, daemon=True).start()
model = nn.Sequential(nn.Linear(128, 96), nn.ReLU(), nn.Linear(96, 10))
opt = torch.optim.SGD(model.parameters(), 0.1)
for step in range(1, 71):
    x = torch.randn(32, 128)
    loss = nn.functional.cross_entropy(model(x), x[:, :10].argmax(1))
    opt.zero_grad()
    loss.backward()
    opt.step()
    try:
        pending.put_nowait(model[0].weight.grad.clone())
    except queue.Full:
        pass
    if step % 10 == 0:  # the slow consumer gets through one in ten
        turn.release()
        done.acquire()
        print(step, loss.item(), "pending", pending.qsize())
