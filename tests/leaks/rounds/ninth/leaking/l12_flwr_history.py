"""History object of a library with numpy arrays, with flwr (and numpy)."""
# after: "Flower: I log the global weights in History to plot them later; server memory grows each round"
# fix: log a number (the norm) and not the arrays
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "history.metrics_centralized['weights']"  # history.metrics_centralized['weights'] (list of (round, list of numpy arrays))
# lines = []
# bytes = 20890  # (40*100+100+100*10+10)*4 = 20,440 B = 20 KiB of numpy arrays a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 21.5, 21.2 (with FIX: 0.0, 0.0; 1.2, 0.5); correction: 20.4 KiB go when it is cleared
# ///
import os
import numpy as np
import torch
from torch import nn
from flwr.server.history import History
from ask import at

torch.manual_seed(0)


def make():
    return nn.Sequential(nn.Linear(40, 100), nn.Tanh(), nn.Linear(100, 10))


def client_round(weights, seed):
    gen = torch.Generator().manual_seed(seed)
    net = make()
    with torch.no_grad():
        for p, w in zip(net.parameters(), weights):
            p.copy_(torch.from_numpy(w))
    for _ in range(2):
        x = torch.randn(64, 40, generator=gen)
        loss = nn.functional.cross_entropy(net(x), x[:, :10].argmax(1))
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, g in zip(net.parameters(), grads):
                p -= 0.1 * g
    return [p.detach().numpy() for p in net.parameters()], loss.item()


history = History()
weights = [p.detach().numpy().copy() for p in make().parameters()]
for rnd in range(1, 91):
    results = [client_round(weights, 100 * rnd + c) for c in range(4)]
    weights = [np.mean([r[0][k] for r in results], axis=0) for k in range(len(weights))]
    history.add_loss_distributed(rnd, float(np.mean([r[1] for r in results])))
    logged = float(np.linalg.norm(weights[0])) if os.environ.get("FIX") else weights
    history.add_metrics_centralized(rnd, {"weights": logged})
    if rnd % 30 == 0:
        print(rnd, history.losses_distributed[-1], flush=True)
    at(rnd)
