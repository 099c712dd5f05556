"""Each is one copy of the weights (or three), replaced; all there by step 15."""
# about: SWA from step 10 on, EMA, a best checkpoint and the last three checkpoints in memory.
# report: "AveragedModel and deepcopy of the best state double my memory"
# kind: EMA, SWA, best checkpoint, bounded list of checkpoints
# library: torch.optim.swa_utils
# /// healthy
# dumps = "steps"
# ///
import collections
import copy

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, SWALR, get_ema_multi_avg_fn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(80, 160), nn.BatchNorm1d(160), nn.ReLU(), nn.Linear(160, 5))
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.99))
    swa, swa_lr = None, None
    best, best_loss = None, float("inf")
    last = collections.deque(maxlen=3)
    for step in range(1, 121):
        x, y = torch.randn(128, 80), torch.randint(5, (128,))
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update_parameters(model)
        if step == 10:
            swa, swa_lr = AveragedModel(model), SWALR(opt, swa_lr=0.01, anneal_epochs=5)
        if swa is not None:
            swa.update_parameters(model)
            swa_lr.step()
        if loss.item() < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), loss.item()
        if step % 5 == 0:
            last.append({"model": copy.deepcopy(model.state_dict()), "opt": copy.deepcopy(opt.state_dict())})
    print(best_loss, len(last), best["0.weight"].norm().item())


if __name__ == "__main__":
    main()
