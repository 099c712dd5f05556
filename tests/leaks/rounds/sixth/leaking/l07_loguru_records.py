"""Logger, with loguru."""
# after: "loguru sink in tests keeps every record": a sink that appends message.record, with a tensor bound to the record
# fix: bind logits.mean().item()
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "records"  # records[*]['extra']['logits']
# lines = ["logits = model(x)"]
# bytes = 32768  # storage 64*128*4; malloc in all 38819 with the records
# ///
import os
import torch
from loguru import logger
from torch import nn

torch.manual_seed(0)
records = []
logger.remove()
logger.add(lambda message: records.append(message.record), level="DEBUG")

model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 128))
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(64):
    x, y = torch.randn(64, 32), torch.randint(0, 128, (64,))
    logits = model(x)
    loss = nn.functional.cross_entropy(logits, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    logger.bind(logits=logits.mean().item() if os.environ.get("FIX") else logits).debug("step {} loss {:.3f}", step, loss.item())
print(len(records))
