"""Figures of pyplot's registry, with matplotlib."""
# after: matplotlib's best known warning: "More than 20 figures have been opened" in a training loop
# fix: plt.close(fig)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "Gcf.figs"  # matplotlib._pylab_helpers.Gcf.figs (figures of plt.subplots that are not closed)
# lines = []
# bytes = 783924  # by malloc, 20->40 796089, 40->60 771759 (PYTHONMALLOC=malloc; figures, Agg buffer, arrays; fixed: 1208 with gc.collect); correction: with the usual malloc 425 KB of malloc, 4,234 blocks of Python's allocator, 726 to 850 KB resident
# ///
import io
import os
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from torch import nn

torch.manual_seed(0)
plt.rcParams["figure.max_open_warning"] = 0
attn = nn.MultiheadAttention(32, 4, batch_first=True)
opt = torch.optim.Adam(attn.parameters(), lr=1e-3)
report = io.BytesIO()
for step in range(62):
    x = torch.randn(8, 64, 32)
    out, weights = attn(x, x, x)
    loss = (out - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    fig, ax = plt.subplots(figsize=(2.5, 2), dpi=80)
    ax.imshow(weights[0].detach().numpy())
    ax.set_title(f"step {step}")
    report.seek(0)
    fig.savefig(report, format="png")
    if os.environ.get("FIX"):
        plt.close(fig)
