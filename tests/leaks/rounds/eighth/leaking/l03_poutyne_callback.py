"""Callback of a training library keeps outputs, with poutyne."""
# after: forum "RAM grows every batch with my callback that collects predictions"
# fix: clear the list every 10 batches (FIX)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "collector.preds"  # `collector.preds` (list of the callback)
# lines = ["out = self.model.network(sample)"]
# bytes = 25600  # 64 x 100 x 4 = 25600 a step; measured 25600 25600 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import os
import torch
from poutyne import Model, Callback

torch.manual_seed(0)
x, y = torch.randn(64 * 70, 32), torch.randint(0, 100, (64 * 70,))
net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 100))


class Collector(Callback):
    def __init__(self):
        super().__init__()
        self.preds = []

    def on_train_batch_end(self, batch_number, logs):
        sample = x[:64]
        with torch.no_grad():
            out = self.model.network(sample)  # LEAK
        self.preds.append(out)
        if os.environ.get("FIX") and len(self.preds) >= 10:
            self.preds.clear()


collector = Collector()
model = Model(net, torch.optim.SGD(net.parameters(), lr=0.01), "cross_entropy")
model.fit(x, y, epochs=1, batch_size=64, callbacks=[collector], progress_options=dict(coloring=False), verbose=False)
print(len(collector.preds))
