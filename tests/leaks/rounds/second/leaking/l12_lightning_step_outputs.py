"""Outputs of the steps are kept by the module itself, as Lightning says, and never cleared."""
# after: Lightning-AI/pytorch-lightning#16520: training_epoch_end is gone
# fix: self.training_step_outputs.clear() in on_train_epoch_end
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "training_step_outputs"
# lines = ["logits = self.net(x)"]
# bytes = 131588  # 64 x 512 floats of logits, a loss, 64 targets; backward has freed the graph
# ///
import logging
import warnings

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
torch.manual_seed(0)


class Classifier(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 512))
        self.training_step_outputs = []

    def training_step(self, batch, index):
        x, y = batch
        logits = self.net(x)
        loss = nn.functional.cross_entropy(logits, y)
        self.training_step_outputs.append({"loss": loss, "logits": logits, "y": y})
        return loss

    def on_train_epoch_end(self):
        last = self.training_step_outputs[-11:]
        hits = [(o["logits"].argmax(-1) == o["y"]).float().mean().item() for o in last]
        self.accuracy = sum(hits) / len(hits)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


data = TensorDataset(torch.randn(704, 32), torch.randint(0, 512, (704,)))
model = Classifier()
trainer = L.Trainer(max_epochs=6, accelerator="cpu", logger=False, enable_checkpointing=False,
                    enable_progress_bar=False, enable_model_summary=False)
trainer.fit(model, DataLoader(data, batch_size=64, shuffle=True))
print("accuracy", model.accuracy, len(model.training_step_outputs))
