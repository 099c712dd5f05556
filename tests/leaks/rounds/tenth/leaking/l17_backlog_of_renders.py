"""Images are rendered by a pool with one thread, slower than the training makes them: the pool's queue has no limit."""
# kind: Queue of a thread pool (unbounded backlog), arguments of waiting tasks, with pebble.
# after: "ThreadPool.schedule from the training loop: RAM grows, consumer too slow"
# fix: drop the image when more than 4 are waiting (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "pool._context.task_queue"  # `pool._context.task_queue` (queue.Queue, its deque of Task; the task's function and arguments keep `image`), that is: the backlog of `pool`
# lines = ["image = out[0].detach().sigmoid().view(3, 64, 64)"]
# bytes = [24576, 40960]  # 3 x 64 x 64 float32 = 49152 a queued task, one task a step; a render takes 0.3 s, a step about 0.1: two of three stay, about 32 KiB a step (depends on the machine); measured 33.6 KiB
# ///
import os
import time

import torch
from pebble import ThreadPool
from torch import nn


def render(step, image):
    time.sleep(0.3)  # encoding, upload
    return step, float(image.mean())


def main():
    torch.manual_seed(0)
    decoder = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 3 * 64 * 64))
    opt = torch.optim.Adam(decoder.parameters(), lr=1e-3)
    pool = ThreadPool(max_workers=1)
    last = None
    for step in range(1, 81):
        time.sleep(0.05)  # loading
        target = torch.rand(8, 3 * 64 * 64)
        out = decoder(torch.randn(8, 32))
        loss = nn.functional.mse_loss(out, target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        image = out[0].detach().sigmoid().view(3, 64, 64)
        if not os.environ.get("FIX") or pool._context.task_queue.qsize() < 4:
            pool.schedule(render, args=(step, image))
        last = loss.item()
    pool.stop()
    pool.join()
    print("loss", last)


if __name__ == "__main__":
    main()
