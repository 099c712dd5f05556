"""Workers publish their state through a key-value store with a key for each step; old keys are never deleted."""
# kind: torch.distributed (gloo group of one, HashStore); bytes in C++ outside of tensors, with torch.distributed.
# after: "torch.distributed store: memory of the master grows, keys never deleted"
# fix: `store.delete_key` of the step before (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "store"  # `store` (HashStore, C++ map) - what was set under 'state/<step>'
# lines = []
# bytes = 41984  # 80 x 128 float32 as bytes = 40960 a step, measured as malloc's memory in use: 41 KiB
# ///
import os

import torch
import torch.distributed as dist
from torch import nn


def main():
    torch.manual_seed(0)
    store = dist.HashStore()
    dist.init_process_group("gloo", rank=0, world_size=1, store=store)
    layer = nn.Linear(128, 80, bias=False)
    opt = torch.optim.SGD(layer.parameters(), lr=0.1)
    for step in range(1, 91):
        x = torch.randn(256, 128)
        loss = (layer(x) - x[:, :80]).square().mean()
        opt.zero_grad()
        loss.backward()
        dist.all_reduce(layer.weight.grad)
        opt.step()
        store.set("state/%d" % step, layer.weight.detach().numpy().tobytes())
        if os.environ.get("FIX") and step > 1:
            store.delete_key("state/%d" % (step - 1))
    print("keys", store.num_keys(), loss.item())
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
