"""A fastai callback that records predictions of every batch."""
# kind: callback list with graph (predictions not detached), with fastai
# after: fastai forum "Callback saving learn.pred makes RAM explode"
# fix: self.preds.clear() in after_epoch (an epoch is 4 batches) (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "learn.keep_preds.preds"  # learn.keep_preds.preds (list of the callback KeepPreds)
# lines = ["return self.out(torch.relu(self.body(x)))"]  # called by fastai's Learner, started by learn.fit
# bytes = 16384  # pred 64x32x4 = 8192 of each training batch, and of each epoch's (4 steps) validation batch 256x32x4 = 32768, which is 8192 a step: 16384. The graph's saved tensors are freed by backward, its nodes stay; measured, bytes a step in 20..40, 40..60: tensors that gc sees 16388,16388, malloc in use 21684,21676, rss 23756,23552; storages the kept graph saves 16384; with FIX: malloc 726,565, rss 819,1024
# ///
import os
import torch
from torch import nn
from fastai.basics import Learner, Callback, DataLoaders, DataLoader, noop
from fastai.optimizer import OptimWrapper

torch.manual_seed(0)


class Points(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        x = torch.randn(40, generator=g)
        return x, x[:32] * 2


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.out = nn.Linear(40, 64), nn.Linear(64, 32)

    def forward(self, x):
        return self.out(torch.relu(self.body(x)))


class KeepPreds(Callback):
    def before_fit(self):
        self.preds = []

    def after_batch(self):
        self.preds.append(self.learn.pred)

    def after_epoch(self):
        print("epoch", self.epoch, "kept", len(self.preds))
        if os.environ.get("FIX"):
            self.preds.clear()


train = torch.utils.data.DataLoader(Points(), batch_size=64, shuffle=True)
valid = torch.utils.data.DataLoader(Points(), batch_size=256)
dls = DataLoaders(train, valid)
learn = Learner(dls, Head(), loss_func=nn.MSELoss(), cbs=[KeepPreds()],
                opt_func=lambda ps, lr, **k: OptimWrapper(ps, torch.optim.SGD, lr=lr))
with learn.no_logging():
    learn.fit(18, 0.05)
