"""A pipeline of streams in front of a model; for a look at the end, a node collects what passes."""
# kind: Streams of data; list inside a node's sink (bound method); tensors, no optimizer, with streamz.
# after: "sink_to_list in a long running stream eats all memory" (streamz)
# fix: `scores.sliding_window(8).sink(...)` instead of the list (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "collected"  # `collected` (the list of `scores.sink_to_list()`; `scores.downstreams` keeps the sink whose func is `collected.append`)
# lines = ["return net(batch).softmax(-1)"]
# bytes = 32768  # 256 x 32 float32 = 32768 a step; measured 32.0 KiB
# ///
import os

import torch
from streamz import Stream
from torch import nn

from ask import at


def build(net):
    source = Stream()

    @torch.no_grad()
    def score(batch):
        return net(batch).softmax(-1)

    scores = source.map(score)
    alarms = []
    scores.map(lambda p: float(p.max())).filter(lambda m: m > 0.9).sink(lambda m: alarms.append(m))
    if os.environ.get("FIX"):
        collected = []
        scores.sliding_window(8, return_partial=True).sink(lambda w: collected.__setitem__(slice(None), w))
    else:
        collected = scores.sink_to_list()
    return source, collected, alarms


def main():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(40, 200), nn.Tanh(), nn.Linear(200, 32)).eval()
    source, collected, alarms = build(net)
    for i in range(1, 101):
        source.emit(torch.randn(256, 40))
        at(i)
    print(len(collected), "kept", len(alarms), "alarms")


if __name__ == "__main__":
    main()
