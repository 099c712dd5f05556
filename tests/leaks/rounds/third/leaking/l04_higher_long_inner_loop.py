"""The inner loop keeps all fast parameters and their graph."""
# after: facebookresearch/higher: memory grows with every inner step
# fix: track_higher_grads=False in innerloop_ctx when no outer gradient is taken (or detach every n steps)
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "fmodel._fast_params"
# lines = ["diffopt.step(loss)", "loss = (fmodel(x) - x @ w)"]
# bytes = 57300  # measured with malloc: fast parameters 18,720, input 4,096; gradients, activations and small nodes of the graph
# ///
import torch, higher
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
w = torch.randn(64, 8)

with higher.innerloop_ctx(model, opt, copy_initial_weights=False) as (fmodel, diffopt):
    for step in range(1, 67):
        x = torch.randn(16, 64)
        loss = (fmodel(x) - x @ w).pow(2).mean()
        diffopt.step(loss)
        at(step)
    print("adapted", round(loss.item(), 3))
