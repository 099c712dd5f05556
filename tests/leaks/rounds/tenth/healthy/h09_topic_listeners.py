"""`probe` is replaced in the next step, its listener dies with it; at most 2 are alive."""
# about: Every step subscribes a new probe to a topic of PyPubSub; the topics keep weak references only.
# report: "subscribe in a loop: do my listeners leak?"
# kind: weakly held listeners (objects with a tensor each), event bus
# library: pypubsub
# /// healthy
# dumps = "steps"
# ///
import torch
from pubsub import pub
from torch import nn

alive = []


class Probe:
    def __init__(self, model):
        self.before = torch.cat([p.detach().flatten() for p in model.parameters()])
        self.moved = None

    def on_step(self, model):
        after = torch.cat([p.detach().flatten() for p in model.parameters()])
        self.moved = (after - self.before).norm().item()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.Linear(200, 10))
    opt = torch.optim.Adagrad(model.parameters(), lr=0.01)
    for step in range(1, 121):
        probe = Probe(model)
        pub.subscribe(probe.on_step, "train.step")
        loss = nn.functional.cross_entropy(model(torch.randn(128, 100)), torch.randint(10, (128,)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        pub.sendMessage("train.step", model=model)
        alive[:] = [len(list(pub.getDefaultTopicMgr().getTopic("train.step").getListeners()))]
    print("moved", probe.moved, "alive", alive)


if __name__ == "__main__":
    main()
