"""History of an optimizer library (numpy and objects, no tensors grow), with pymoo."""
# after: "pymoo save_history=True: memory explodes": a copy of the algorithm with its population in every generation
# fix: setup(..., save_history=False)
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "algorithm.history"  # algorithm.history (list of deep copies of the algorithm: pop, off, opt -> Individual.data/_X)
# lines = []
# bytes = 234200  # about 102000 in malloc (arrays and large blocks) and 1200 small Python objects, together about 0.23 MiB of RSS (own measure: mallinfo2 and sys.getallocatedblocks, FIX: 2000 and 0); correction: 234,200 go for each entry when it is cleared
# ///
import os

import numpy as np
import torch
import torch.nn as nn
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import Problem
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
sizes = [p.numel() for p in net.parameters()]
x = torch.randn(128, 8)
y = x[:, :1] * x[:, 1:2]


@torch.no_grad()
def loss_of(vector):
    parts = torch.from_numpy(vector).float().split(sizes)
    for p, v in zip(net.parameters(), parts):
        p.copy_(v.view_as(p))
    return nn.functional.mse_loss(net(x), y).item()


class Weights(Problem):
    def __init__(self):
        super().__init__(n_var=sum(sizes), n_obj=1, xl=-2.0, xu=2.0)

    def _evaluate(self, X, out, *args, **kwargs):
        out["F"] = np.array([[loss_of(v)] for v in X])


problem = Weights()
algorithm = GA(pop_size=40)
algorithm.setup(problem, termination=("n_gen", 70), seed=1, verbose=False, save_history=not os.environ.get("FIX"))
generation = 0
while algorithm.has_next():
    offspring = algorithm.ask()
    algorithm.evaluator.eval(problem, offspring)
    algorithm.tell(infills=offspring)
    generation += 1
    at(generation)
print("best", float(algorithm.opt[0].F[0]), "generations", generation)
