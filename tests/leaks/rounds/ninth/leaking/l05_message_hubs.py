"""Registry of named global instances, with mmengine."""
# after: "MessageHub.get_instance with a new name for every evaluation: instances are global and never freed" (mmengine)
# fix: one hub with one name: MessageHub.get_instance('eval')
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "MessageHub._instance_dict"  # MessageHub._instance_dict['eval_<step>'] (class attribute of MessageHub, an OrderedDict)
# lines = ["logits = model(held_out)"]
# bytes = 40960  # 256*40*4 = 40 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 40.0, 40.0; all malloc'd 45.7, 43.1 (with FIX: 0.0, 0.0; 3.6, 0.9)
# ///
import os
import torch
from torch import nn
from mmengine.logging import MessageHub

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 40))
opt = torch.optim.SGD(model.parameters(), lr=0.05)
held_out = torch.randn(256, 32)


def evaluate(step):
    name = "eval" if os.environ.get("FIX") else f"eval_{step}"
    hub = MessageHub.get_instance(name)
    with torch.no_grad():
        logits = model(held_out)
    hub.update_info("logits", logits)
    hub.update_scalar("eval/entropy", torch.distributions.Categorical(logits=logits).entropy().mean())
    return hub


for step in range(1, 101):
    x = torch.randn(128, 32)
    y = x.argmax(1)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    hub = evaluate(step)
    if step % 25 == 0:
        print(step, round(loss.item(), 3), hub.get_scalar("eval/entropy").current(), flush=True)
