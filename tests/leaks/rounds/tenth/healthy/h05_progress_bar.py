"""The bar keeps the last postfix as text; `history` gets a float of 24 bytes and a slot of 8 each step; the smoothing deque has 20 places."""
# about: A progress bar with the loss in its postfix and a history of floats for a plot.
# report: "tqdm set_postfix(loss=loss) leaks the graph?"
# kind: history of Python floats (32 bytes a step), tensors in a progress bar (formatted to text, last ones only)
# library: tqdm
# /// healthy
# dumps = "steps"
# ///
import collections
import io

import torch
from torch import nn
from tqdm import tqdm


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(120, 240), nn.ReLU(), nn.Dropout(0.1), nn.Linear(240, 12))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 1e-2, total_steps=200)
    recent = collections.deque(maxlen=20)
    history = []
    bar = tqdm(range(200), file=io.StringIO(), mininterval=0)
    for step in bar:
        x, y = torch.randn(256, 120), torch.randint(12, (256,))
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(set_to_none=bool(step % 2))
        loss.backward()
        opt.step()
        sched.step()
        recent.append(loss.detach())
        history.append(loss.item())
        bar.set_postfix(loss=loss, smooth=sum(recent) / len(recent), lr=sched.get_last_lr()[0])
        bar.fp.seek(0)
        bar.fp.truncate()
    print(history[-1])


if __name__ == "__main__":
    main()
