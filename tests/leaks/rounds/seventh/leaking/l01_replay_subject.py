"""Library buffer without bound, with reactivex."""
# after: RxPY issues "ReplaySubject keeps everything": a stream of validation scores is published to a ReplaySubject so that a late dashboard can catch up
# fix: ReplaySubject(buffer_size=4)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "feed.queue"  # feed.queue (ReplaySubject(buffer_size) is unbounded by default), items hold .value with the logits
# lines = ["probabilities = torch.softmax(logits.detach(), dim=1)"]
# bytes = 51200  # 128 x 100 float32; storages
# ///
import os

import torch
import torch.nn as nn
from reactivex.subject import ReplaySubject


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 100))
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    feed = ReplaySubject(buffer_size=4) if os.environ.get("FIX") else ReplaySubject()
    seen = []
    feed.subscribe(lambda item: seen.append(item["step"]))
    for step in range(70):
        x = torch.randn(128, 64)
        y = torch.randint(0, 100, (128,))
        logits = net(x)
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        probabilities = torch.softmax(logits.detach(), dim=1)
        feed.on_next({"step": step, "probabilities": probabilities, "loss": loss.item()})
        if step % 10 == 0:
            print(step, round(loss.item(), 3), flush=True)
    print("published", len(seen))


main()
