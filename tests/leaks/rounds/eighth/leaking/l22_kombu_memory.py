"""Message queue of a broker inside the process, text/bytes, with kombu (memory transport)."""
# after: issue "in-memory broker grows: results published, nobody consumes that queue"
# fix: queue.purge() each step (FIX)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "Channel.queues['metrics']"  # `kombu.transport.memory.Channel.queues['metrics']` (queue.Queue of messages; class attribute of the channel)
# lines = []
# bytes = 30000  # body of the message: base64/JSON text of 4096 float32, that is 4096 x 4 x 4/3 = 21848 characters, outside tensors; measured the memory transport encodes the body in base64 once more: 21848 x 4/3 = 29.1 KB; malloc in use +30.6..31.0 KB a step with objects; correction: 29.9 to 30.1 KB by malloc, less its drift in a run with FIX
# ///
import base64
import os
import torch
from kombu import Connection

torch.manual_seed(0)
net = torch.nn.Linear(64, 64, bias=False)
opt = torch.optim.SGD(net.parameters(), lr=0.05)
connection = Connection("memory://")
queue = connection.SimpleQueue("metrics")

for step in range(70):
    x = torch.randn(16, 64)
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    blob = base64.b64encode(net.weight.detach().numpy().tobytes()).decode()
    queue.put({"step": step, "weights": blob}, serializer="json")
    if os.environ.get("FIX"):
        queue.clear()
print(queue.qsize())
