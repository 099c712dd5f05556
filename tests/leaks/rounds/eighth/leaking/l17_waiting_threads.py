"""Threads that never finish keep their arguments, with threading."""
# after: Stack Overflow "one upload thread per step, none ever ends" (waits for an acknowledgement that does not come)
# fix: acknowledged.wait(timeout=0.01) and return (FIX)
# /// leak
# dumps = "steps"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "thread upload"  # frames of the threads `upload` (local `payload`); threading._active / the event `acknowledged` that is never set
# lines = ["payload = net.weight.detach().clone()"]
# bytes = 32000  # 100 x 80 x 4 = 32000 a step (the copy of the weights); measured tensors 32000; malloc +71 KB (state of each Python thread; stacks are not in it)
# ///
import os
import threading
import torch

torch.manual_seed(0)
threading.stack_size(256 * 1024)
net = torch.nn.Linear(80, 100, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
acknowledged = threading.Event()


def upload(payload, step):
    checksum = payload.sum().item()
    acknowledged.wait(timeout=0.01 if os.environ.get("FIX") else None)
    return payload, checksum


def save_weights(step):
    payload = net.weight.detach().clone()  # LEAK
    threading.Thread(target=upload, args=(payload, step), daemon=True, name="upload-%d" % step).start()


for step in range(70):
    x = torch.randn(16, 80)
    loss = (net(x) - 1).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    save_weights(step)
print(threading.active_count())
acknowledged.set()
