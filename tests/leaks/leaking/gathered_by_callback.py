"""A callback collects predictions and targets of every batch, also of those that nobody asks for."""
# fastai/fastai#2834: GatherPredsCallback can now have save_preds and save_targs set to false
# fastai/fastai_dev#241: learn.get_preds is very memory hungry and terminates with an error
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "learner.callbacks"
# lines = ["self.pred = ", "targets = "]
# bytes = 81920  # predictions and targets of 32 x 320 floats
# ///
import torch
from torch import nn


class GatherPreds:
    def __init__(self):
        self.preds, self.targets = [], []

    def after_batch(self, learner):
        self.preds.append(learner.pred.detach())
        self.targets.append(learner.y)


class Learner:
    def __init__(self, callbacks):
        self.model = nn.Linear(320, 320)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.callbacks = callbacks

    def one_batch(self, x, y):
        self.y = y
        self.pred = self.model(x)
        loss = nn.functional.mse_loss(self.pred, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        for callback in self.callbacks:
            callback.after_batch(self)


learner = Learner([GatherPreds()])
for batch in range(60):
    targets = torch.randn(32, 320)
    learner.one_batch(torch.randn(32, 320), targets)
