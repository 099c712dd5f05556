"""A callback records the predictions of each batch in net.history, which is meant for numbers."""
# after: skorch-dev/skorch: net.history
# fix: record a number, or drop it in on_epoch_end
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "net.history_"
# lines = ["return self.fc2(self.fc1(x).relu())", "net.fit(X, y)"]
# bytes = 65536  # 256 x 64 floats
# ///
import numpy as np
import torch
from torch import nn
from skorch import NeuralNetRegressor
from skorch.callbacks import Callback

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(32, 256)
        self.fc2 = nn.Linear(256, 64)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())


class KeepPredictions(Callback):
    def on_batch_end(self, net, batch=None, training=False, y_pred=None, **kwargs):
        if training:
            net.history.record_batch("y_pred", y_pred.detach())


X = np.random.default_rng(0).standard_normal((256, 32)).astype(np.float32)
y = np.random.default_rng(1).standard_normal((256, 64)).astype(np.float32)
net = NeuralNetRegressor(
    Net, max_epochs=66, batch_size=256, lr=0.01, train_split=None, verbose=0,
    callbacks=[KeepPredictions()],
)
net.fit(X, y)
print("epochs", len(net.history))
