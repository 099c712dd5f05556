"""duckdb: each step's predictions go through a temporary table that is dropped; one aggregated row per step stays; memory_limit is set."""
# /// healthy
# dumps = "asks"
# ///
import duckdb
import numpy as np
import pandas as pd
import torch
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

db = duckdb.connect(":memory:", config={"threads": 1, "memory_limit": "64MB"})
db.execute("create table summary(step integer, mean double, high double)")
model = torch.nn.Linear(16, 1).requires_grad_(False)
for step in range(1, 67):
    p = torch.sigmoid(model(torch.randn(4000, 16))).squeeze(1)
    frame = pd.DataFrame({"id": np.arange(4000), "p": p.double().numpy()})
    db.execute("create or replace temp table batch as select id, p from frame")
    db.execute("insert into summary select ?, avg(p), quantile_cont(p, 0.95) from batch", [step])
    db.execute("drop table batch")
    at(step)
print(db.execute("select count(*), round(avg(high), 3) from summary").fetchone())
