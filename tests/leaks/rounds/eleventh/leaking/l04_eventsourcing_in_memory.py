"""Event store of a library in memory; bytes objects, no tensors, with eventsourcing."""
# after: "in-memory application recorder in production": no PERSISTENCE_MODULE set, so every event of the training log stays in the process
# fix: keep events in a file (PERSISTENCE_MODULE=eventsourcing.sqlite), or a new application (a new store) every 10 steps; FIX does the latter
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "app.recorder._stored_events"  # app.recorder._stored_events (list of StoredEvent, .state is bytes) (app = TrainingLog)
# lines = []
# bytes = 20116  # 20116 (bytes objects .state of the events of a step: JSON of 1024 probabilities; malloc in use 20680)
# ///
import os

import torch
import torch.nn as nn
from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

torch.manual_seed(0)


class Run(Aggregate):
    def __init__(self, name):
        self.name = name
        self.last = None

    @event("Evaluated")
    def evaluated(self, step, probs):
        self.last = step


class TrainingLog(Application):
    def start(self, name):
        run = Run(name)
        self.save(run)
        return run


app = TrainingLog()
run = app.start("exp0")
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
held_out = torch.randn(256, 64)
for step in range(1, 76):
    x, y = torch.randn(64, 64), torch.randint(4, (64,))
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    probs = net(held_out).softmax(1).detach()
    run.evaluated(step, probs.flatten().tolist())
    app.save(run)
    if os.environ.get("FIX") and step % 10 == 0:
        app.close()
        app = TrainingLog()
        run = app.start("exp0")
print("events", len(app.recorder._stored_events))
