"""State carried over steps with its autograd graph, no torch.no_grad(), with ncps."""
# after: "inference gets slower and RAM grows in a streaming loop with CfC/LTC, hx is passed back in" (ncps issues, RNN streaming threads)
# fix: torch.no_grad() around the call, or hx = hx.detach() (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "hx"  # `hx` (its grad_fn chain reaches all earlier steps)
# lines = ["out, hx = model(window, hx)"]
# bytes = [185344, 190464]  # 186 KiB (allocated bytes; the graph of one call: saved tensors of 6 time steps, nodes); 27.75 KiB of them are tensors that Python has seen; correction: 181 KiB by malloc in use; storages alone 40,704
# ///
import os

import torch
from ncps.torch import CfC

from ask import at

torch.manual_seed(0)
model = CfC(8, 32, batch_first=True)
model.eval()
hx = None
alarms = 0
for i in range(1, 71):
    window = torch.randn(4, 6, 8)
    out, hx = model(window, hx)
    if os.environ.get("FIX"):
        hx = hx.detach()
    alarms += int((out.detach().abs().mean() > 0.5).item())
    at(i)
print("alarms", alarms)
