"""List of recorded warnings whose message objects hold tensors, with stdlib warnings."""
# after: "warnings.catch_warnings(record=True) around the training; the warning carries the batch for debugging"
# fix: del caught[:] at each report / do not put the batch in the warning (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "caught"  # `caught` (list of WarningMessage; .message.batch)
# lines = ["batch = torch.randn(40, 100)"]
# bytes = 16000  # 40 x 100 x 4 = 15.6 KiB of tensor storages (measured); 17.1 KiB allocated bytes
# ///
import os
import warnings

import torch
import torch.nn as nn


class OutlierWarning(UserWarning):
    def __init__(self, text, batch):
        super().__init__(text)
        self.batch = batch


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 100))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for step in range(1, 71):
        batch = torch.randn(40, 100)
        if batch.abs().max() > 3:
            warnings.warn(OutlierWarning(f"step {step}: outlier", None if os.environ.get("FIX") else batch), stacklevel=1)
        loss = nn.functional.l1_loss(net(batch), batch)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(len(caught), "warnings")
