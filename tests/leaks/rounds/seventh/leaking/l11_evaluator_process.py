"""Child process (torch.multiprocessing, spawn by fork), tensors in shared memory, with torch."""
# after: PyTorch issues "RAM of the evaluator process grows": a child process receives predictions through a queue and keeps them all for a final metric
# fix: reduce on arrival
# /// leak
# dumps = "steps"
# kinds = ["child-processes", "container", "module-cache"]
# holder = "predictions"  # in the child: Evaluator.predictions (list)
# lines = ["self.predictions.append(tensor.double())"]
# bytes = 204800  # in the child (256 x 100 float64; malloc in use of the child 203,700 to 206,900; with FIX its malloc in use is constant, though its rss is not: free memory in the heap)
# ///
import os
import time

import torch
import torch.multiprocessing as mp
import torch.nn as nn


class Evaluator:
    def __init__(self):
        self.predictions = []
        self.sum = 0.0

    def add(self, tensor):
        if os.environ.get("FIX"):
            self.sum += tensor.double().sum().item()
        else:
            self.predictions.append(tensor.double())

    def serve(self, inbox, outbox):
        torch.set_num_threads(1)
        while True:
            item = inbox.get()
            if item is None:
                break
            self.add(item)
            del item
            outbox.put(len(self.predictions))


if __name__ == "__main__":
    torch.manual_seed(0)
    ctx = mp.get_context("fork")
    inbox, outbox = ctx.Queue(), ctx.Queue()
    child = ctx.Process(target=Evaluator().serve, args=(inbox, outbox), daemon=True)
    child.start()
    net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 100))
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for step in range(66):
        x = torch.randn(256, 20)
        out = net(x)
        loss = (out - x.sum(1, keepdim=True)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        inbox.put(out.detach())
        count = outbox.get()
        opt.step()
        time.sleep(0.02)
        if step % 20 == 0:
            print(step, loss.item(), count, flush=True)
    inbox.put(None)
    child.join(20)
