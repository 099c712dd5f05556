"""Rows of a table hold losses with their graphs, with prettytable."""
# after: "GPU memory grows, I only print a table of the losses": the table's rows get the loss, not loss.item() (forum classic, with a table library)
# fix: loss.item() (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "table._rows"  # `table._rows`
# lines = ["z = torch.sigmoid(enc(x))", "recon = nn.functional.mse_loss(torch.tanh(dec(z)), x)", "l1 = z.abs().mean()"]
# bytes = 55296  # 54 KiB of tensors (measured: x 12, z 18, and two of 12 of the decoder); 64.4 KiB allocated bytes
# ///
import os

import torch
import torch.nn as nn
from prettytable import PrettyTable

torch.manual_seed(0)
enc, dec = nn.Linear(64, 96), nn.Linear(96, 64)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], lr=1e-3)
table = PrettyTable(["step", "recon", "l1"])
for step in range(1, 71):
    x = torch.randn(48, 64)
    z = torch.sigmoid(enc(x))
    recon = nn.functional.mse_loss(torch.tanh(dec(z)), x)
    l1 = z.abs().mean()
    (recon + 1e-3 * l1).backward(retain_graph=True)  # also needed for the sensitivity of x below
    opt.step()
    opt.zero_grad()
    table.add_row([step, recon.item(), l1.item()] if os.environ.get("FIX") else [step, recon, l1])
print(table.get_string(start=60))
