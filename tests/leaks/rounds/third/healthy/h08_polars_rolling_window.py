"""polars: a window of the last 3000 rows is concatenated and cut each step (new buffers each time, the old are freed), full before step 20."""
# /// healthy
# dumps = "steps"
# ///
import polars as pl
import torch

torch.manual_seed(0)
torch.set_num_threads(1)

model = torch.nn.Linear(8, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
window = pl.DataFrame(schema={"step": pl.Int64, "loss": pl.Float64, "pred": pl.Float64})
for step in range(66):
    x = torch.randn(250, 8)
    pred = model(x).squeeze(1)
    losses = (pred - x.sum(1)).pow(2)
    opt.zero_grad()
    losses.mean().backward()
    opt.step()
    new = pl.DataFrame({"step": [step] * 250, "loss": losses.detach().double().numpy(), "pred": pred.detach().double().numpy()})
    window = pl.concat([window, new]).tail(3000).rechunk()
print(window.height, round(window["loss"].tail(250).mean(), 4))
