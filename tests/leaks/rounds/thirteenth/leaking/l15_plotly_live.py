"""A live figure gets a new trace in each step."""
# kind: figure with all traces (numpy, deep copied by the library), with plotly
# after: plotly/dash "memory keeps growing with fig.add_trace in a loop"
# fix: fig.data = fig.data[-3:] (with fig.data = () before adding) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "fig._data"  # fig (fig.data / fig._data, fig._data_objs); correction: _data alone, when it is cleared, frees 97.5 % of it
# lines = []
# bytes = 32325  # x and y of 2000 float64 = 32000 at least (plotly copies; y converted to 8 bytes before) and the trace's objects; measured, bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 32418,32232, rss 31948,34611; with FIX: malloc 336,176, rss 819,0; outside of tensors
# ///
import os
import numpy as np
import plotly.graph_objects as go
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), 1e-2)
grid = torch.linspace(-3, 3, 2000).unsqueeze(1)
fig = go.Figure()
for step in range(1, 71):
    x = torch.rand(128, 1) * 6 - 3
    loss = nn.functional.mse_loss(model(x), torch.sin(x))
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        curve = model(grid).squeeze(1).double().numpy()
    if os.environ.get("FIX"):
        fig.data = ()
    fig.add_trace(go.Scatter(x=np.linspace(-3, 3, 2000), y=curve, name=f"step {step}"))
    if step % 20 == 0:
        print(step, round(loss.item(), 4), "traces", len(fig.data))
