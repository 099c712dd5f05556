"""Backlog in the feeder's buffer of a queue of processes, with torch.multiprocessing (queue of numpy arrays)."""
# after: "multiprocessing.Queue uses all memory": the consumer is slower than training, put() never blocks
# fix: mp.Queue(maxsize=4) and put_nowait / drop when full
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "features._buffer"  # features._buffer (deque of the feeder thread)
# lines = ["features.put_nowait((step, hidden.detach().clone().numpy()))"]
# bytes = 65536  # 64*256*4; pickled bytes in the pipe not counted
# ///
import os
import queue
import time
import torch
import torch.multiprocessing as mp
from torch import nn


def plotter(features):
    while True:
        step, arr = features.get()
        time.sleep(20)  # renders a video


def main():
    torch.manual_seed(0)
    ctx = mp.get_context("fork")
    features = ctx.Queue(4 if os.environ.get("FIX") else 0)
    child = ctx.Process(target=plotter, args=(features,), daemon=True)
    child.start()
    net = nn.Sequential(nn.Linear(32, 256), nn.ReLU(), nn.Linear(256, 4))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    for step in range(64):
        x, y = torch.randn(64, 32), torch.randint(0, 4, (64,))
        hidden = net[1](net[0](x))
        loss = nn.functional.cross_entropy(net[2](hidden), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        try:
            features.put_nowait((step, hidden.detach().clone().numpy()))
        except queue.Full:
            pass
    features.cancel_join_thread()
    child.terminate()


if __name__ == "__main__":
    main()
