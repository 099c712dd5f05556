"""Memo of a C object keeps all it pickled, with pickle."""
# after: bug tracker "one Pickler for a stream of records: memory grows" (the memo is documented)
# fix: pickler.clear_memo() after each dump (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "pickler"  # `pickler.memo` (the Pickler `pickler`)
# lines = ["record = {\"step\": step, \"error\": (out - x).detach()}"]
# bytes = 32768  # 256 x 32 x 4 = 32768 (tensor), and the same again as bytes that torch's reduce makes and the memo keeps, outside of tensors; tensors measured 32768 32768 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import pickle
import torch

torch.manual_seed(0)
net = torch.nn.Linear(32, 32)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
log = open(os.devnull, "wb")
pickler = pickle.Pickler(log, protocol=pickle.HIGHEST_PROTOCOL)

for step in range(70):
    x = torch.randn(256, 32)
    out = net(x)
    loss = (out - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    record = {"step": step, "error": (out - x).detach()}  # LEAK
    pickler.dump(record)
    if os.environ.get("FIX"):
        pickler.clear_memo()
print(loss.item())
