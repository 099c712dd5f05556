"""delete_many drops documents older than 12 steps; 4 documents of 16 KiB a step: 768 KiB from step 12 on (bytes, no tensors)."""
# report: "experience in a mongo collection of the tests: memory after some time"
# kind: a window of documents, older ones are deleted
# library: mongomock
# measured: KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 0.9, 0.1
# /// healthy
# dumps = "steps"
# ///
import numpy as np
import mongomock
import torch
from torch import nn

torch.manual_seed(0)
episodes = mongomock.MongoClient().replay.episodes
model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(1, 81):
    for k in range(4):
        data = torch.randn(64, 64)
        episodes.insert_one({"step": step, "k": k, "obs": data.numpy().tobytes()})
    episodes.delete_many({"step": {"$lte": step - 12}})
    docs = list(episodes.find({"k": step % 4}).limit(4))
    x = torch.stack([torch.from_numpy(np.frombuffer(d["obs"], np.float32).copy().reshape(64, 64)) for d in docs])
    loss = (model(x) - x.roll(1, 1)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 20 == 0:
        print(step, episodes.count_documents({}), round(loss.item(), 4), flush=True)
