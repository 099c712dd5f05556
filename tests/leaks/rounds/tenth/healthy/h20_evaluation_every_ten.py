"""`trainer.last` is replaced by the next evaluation's; first one at step 10; scores are floats."""
# about: Every ten steps an evaluation collects predictions of a validation set; the last evaluation's are kept for a report.
# report: "memory jumps after each evaluation"
# kind: periodic evaluation, lists that are replaced; scores as floats
# library: torch
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(70, 140), nn.ReLU(), nn.Linear(140, 9))
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
        self.val = [(torch.randn(128, 70), torch.randint(9, (128,))) for _ in range(6)]
        self.last = None
        self.scores = []

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        logits, targets = [], []
        for x, y in self.val:
            logits.append(self.model(x))
            targets.append(y)
        self.model.train()
        self.last = {"logits": logits, "confusion": torch.zeros(9, 9)}
        for out, y in zip(logits, targets):
            self.last["confusion"].index_put_((y, out.argmax(-1)), torch.ones(len(y)), accumulate=True)
        self.scores.append(float(self.last["confusion"].diag().sum() / self.last["confusion"].sum()))

    def step(self):
        loss = nn.functional.cross_entropy(self.model(torch.randn(256, 70)), torch.randint(9, (256,)))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    trainer = Trainer()
    for step in range(1, 121):
        loss = trainer.step()
        if step % 10 == 0:
            trainer.evaluate()
    print(trainer.scores[-1], loss)


if __name__ == "__main__":
    main()
