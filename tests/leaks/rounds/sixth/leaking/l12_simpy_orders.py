"""Generators kept alive by an event's callbacks, with simpy."""
# after: simpy list: "memory of a long simulation grows": processes wait for an event that never comes
# fix: closing.succeed() each day and a new event
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "closing.callbacks"  # closing.callbacks[*] (each a Process, its generator's locals demand, plan)
# lines = ["demand = torch.rand(64, 32)", "plan = policy(demand)"]
# bytes = 36864  # (3 * (64*32*4 + 64*16*4); malloc in all 41214)
# ///
import os
import simpy
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 16))
env = simpy.Environment()
closing = env.event()
served = 0


def customer(env, closing):
    global served
    demand = torch.rand(64, 32)
    with torch.no_grad():
        plan = policy(demand)
    yield env.timeout(float(demand.mean()))
    served += int(plan.argmax(1).sum() > 0)
    yield closing  # leaves when the shop closes
    served -= float(plan.sum()) > 1e9


for i in range(1, 66):
    for k in range(3):
        env.process(customer(env, closing))
    if os.environ.get("FIX"):
        env.run(until=i - 0.01)
        closing.succeed()
        closing = env.event()
    env.run(until=i)
    at(i)
print(served)
