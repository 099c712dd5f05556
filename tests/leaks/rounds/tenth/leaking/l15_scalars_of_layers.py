"""Statistics of each layer by tensorboardX's `add_scalars`, which keeps every value for a JSON export."""
# kind: text/numbers outside of tensors, dict within a library, with tensorboardX.
# after: "add_scalars leaks: SummaryWriter.scalar_dict grows forever" (tensorboardX issues)
# fix: `add_scalar` for each (not kept), or empty `writer.scalar_dict` (FIX=1)
# note: writes event files in a temporary folder that it removes; starts a thread for each tag (48)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "writer.scalar_dict"  # `writer.scalar_dict` (dict path -> list of [time, step, value])
# lines = []
# bytes = [5351, 6528]  # Python objects: 48 tags, each a list of 3 (80) + two floats (48) + a slot of the outer list (8) = 136, about 6528 a step by sys.getsizeof; measured 5351 (20 to 40) and 5505 (40 to 60) by walking it
# ///
import os
import shutil
import tempfile

import torch
from tensorboardX import SummaryWriter
from torch import nn

LAYERS = 24


def main():
    torch.manual_seed(0)
    folder = tempfile.mkdtemp()
    writer = SummaryWriter(folder, flush_secs=1)
    model = nn.Sequential(*[m for _ in range(LAYERS) for m in (nn.Linear(32, 32), nn.Tanh())], nn.Linear(32, 4))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for step in range(1, 81):
        x, y = torch.randn(64, 32), torch.randint(4, (64,))
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        stats = {}
        for i in range(LAYERS):
            layer = model[2 * i]
            stats["grad%d" % i] = layer.weight.grad.norm().item()
            stats["weight%d" % i] = layer.weight.detach().norm().item()
        writer.add_scalars("layers", stats, step)
        if os.environ.get("FIX"):
            writer.scalar_dict.clear()
        opt.step()
    print("values", sum(len(v) for v in writer.scalar_dict.values()), loss.item())
    writer.close()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
