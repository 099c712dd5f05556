"""pyro.param() with a name for each document of a stream: parameters, and an optimizer each, are never removed."""
# after: pyro-ppl/pyro: pyro.param in a stream of documents
# fix: amortize the guide, or delete: pyro.get_param_store() del / clear_param_store() and drop the optimizer of old documents
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache", "gone-parameters"]
# holders = ["_params", "svi.optim.optim_objs"]
# lines = ["loc = pyro.param(", "losses.append(svi.step("]
# bytes = 32772  # 2,048 floats: parameter, gradient, two states of Adam, and its step; a quarter in guide(), the rest in svi.step()
# ///
import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.optim import Adam

torch.manual_seed(0)


def model(doc, x):
    z = pyro.sample("z", dist.Normal(torch.zeros(2048), 1.0).to_event(1))
    pyro.sample("obs", dist.Normal(z, 0.5).to_event(1), obs=x)


def guide(doc, x):
    loc = pyro.param(f"loc_{doc}", torch.zeros(2048))
    pyro.sample("z", dist.Normal(loc, 0.1).to_event(1))


svi = SVI(model, guide, Adam({"lr": 0.01}), Trace_ELBO())
losses = []
for step in range(66):
    doc = torch.randn(2048)
    losses.append(svi.step(step, doc))
print("loss", losses[-1], "params", len(list(pyro.get_param_store().keys())))
