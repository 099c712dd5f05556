"""Numpy array that is replaced by a larger one at each run (backend.grow), with emcee."""
# after: "emcee chain in memory grows; I only need the last state" (emcee backends; sampling weights of a small net)
# fix: sampler.reset() after each step (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "sampler.backend.chain"  # `sampler.backend.chain` (numpy)
# lines = []
# bytes = 86432  # 146 x 73 x 8 + 146 x 8 = 86,432 bytes (84.4 KiB) of numpy (measured), outside of tensors
# ///
import os

import emcee
import numpy as np
import torch

from ask import at

torch.manual_seed(0)
np.random.seed(0)
H = 12
dim = 4 * H + H + H + 1
x = torch.randn(64, 4, dtype=torch.float64)
y = x.prod(1)


def log_prob(thetas):
    t = torch.from_numpy(thetas)
    w1, b1, w2, b2 = t[:, :4 * H].reshape(-1, 4, H), t[:, 4 * H:5 * H], t[:, 5 * H:6 * H], t[:, -1]
    h = torch.tanh(torch.einsum("nd,wdh->wnh", x, w1) + b1[:, None])
    out = torch.einsum("wnh,wh->wn", h, w2) + b2[:, None]
    return (-(out - y).pow(2).sum(1) - 0.5 * t.pow(2).sum(1)).numpy()


walkers = 2 * dim
sampler = emcee.EnsembleSampler(walkers, dim, log_prob, vectorize=True)
state = 0.1 * np.random.randn(walkers, dim)
for i in range(1, 71):
    state = sampler.run_mcmc(state, 1, skip_initial_state_check=True)
    if os.environ.get("FIX"):
        sampler.reset()
    at(i)
print(float(np.max(state.log_prob)))
