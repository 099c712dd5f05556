"""The predictions of every step are a table of Arrow, which is never written."""
# after: apache/arrow: tables that are kept, memory in Arrow's own pool
# fix: write the table to a file (pq.ParquetWriter) and drop it
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "log.tables"
# lines = ['"score": pa.array(values', '"id": pa.array(ids']
# bytes = 196608  # 16,384 float64 and 16,384 int32, outside tensors; 4 KiB of validity at most
# ///
import pyarrow as pa
import torch
from torch import nn

torch.manual_seed(0)


class PredictionLog:
    def __init__(self):
        self.tables = []

    def write(self, step, scores):
        values = scores.double().tolist()
        ids = list(range(step, step + len(values)))
        self.tables.append(
            pa.table(
                {
                    "score": pa.array(values, type=pa.float64()),
                    "id": pa.array(ids, type=pa.int32()),
                }
            )
        )


log = PredictionLog()
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=1e-2)
for step in range(66):
    x = torch.randn(16_384, 16)
    out = model(x)[:, 0]
    loss = (out - x.mean(1)).square().mean()
    opt.zero_grad()
    loss.backward()
    log.write(step, out.detach())
    opt.step()
print("loss", loss.item(), "arrow", pa.total_allocated_bytes())
