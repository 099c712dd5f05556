"""One frame of predictions a step in a list, to be put together at the end."""
# after: pola-rs/polars: forum
# fix: aggregate per step (one row), or write each frame to a parquet file
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "log.frames"
# lines = ["df = df.select("]
# bytes = 96000  # 4,000 rows of an int64 and two float64, in the buffers of polars; 113 to 157 KB resident
# ///
import polars as pl
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)


class PredictionLog:
    def __init__(self):
        self.frames = []

    def add(self, step, p, y):
        df = pl.DataFrame({"p": p.numpy(), "y": y.numpy()})
        df = df.select(
            id=pl.int_range(pl.len(), dtype=pl.Int64) + step * 4000,
            p=pl.col("p").cast(pl.Float64) * 1.0,
            loss=(pl.col("p").cast(pl.Float64) - pl.col("y").cast(pl.Float64)) ** 2,
        )
        self.frames.append(df)

    def mean_loss(self):
        return pl.concat(self.frames)["loss"].mean()


model = torch.nn.Linear(16, 1)
log = PredictionLog()
for step in range(1, 67):
    with torch.no_grad():
        x, y = torch.randn(4000, 16), torch.randint(0, 2, (4000,))
        log.add(step, torch.sigmoid(model(x)).squeeze(1), y)
    at(step)
print(round(log.mean_loss(), 4))
