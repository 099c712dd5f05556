"""A Lightning module collects the results of a validation of four batches and clears them at its end."""
# /// healthy
# dumps = "steps"
# ///
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader

warnings.simplefilter("ignore")


class Regressor(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(16, 32)
        self.evaluation_results = []

    def training_step(self, batch, index):
        return self.net(batch).square().mean()

    def validation_step(self, batch, index):
        self.evaluation_results.append(self.net(batch))

    def on_validation_epoch_end(self):
        self.log("spread", torch.cat(self.evaluation_results).std())
        self.evaluation_results.clear()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters())


trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", val_check_interval=5, num_sanity_val_steps=2, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Regressor(), DataLoader(torch.randn(60 * 64, 16), batch_size=64), DataLoader(torch.randn(4 * 64, 16), batch_size=64))
