"""A Store with capacity 12 between producers and one server; customers leave (processes end); statistics are numbers."""
# looks like: generators with tensors, events queued; the store is full from about step 6
# library: simpy
# /// healthy
# dumps = "asks"
# ///
import simpy
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 4)).eval()
env = simpy.Environment()
store = simpy.Store(env, capacity=12)
waits = []


def camera(env, store):
    while True:
        frame = torch.rand(128, 32)
        yield store.put((env.now, frame))
        yield env.timeout(0.4)


def server(env, store):
    while True:
        born, frame = yield store.get()
        with torch.no_grad():
            score = net(frame).mean()
        yield env.timeout(0.5 + 0.1 * float(score.abs()))
        waits.append(env.now - born)


for k in range(2):
    env.process(camera(env, store))
env.process(server(env, store))
for i in range(1, 66):
    env.run(until=i)
    at(i)
print(len(waits), sum(waits) / len(waits))
