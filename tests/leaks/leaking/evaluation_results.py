"""A Lightning module appends the results of each validation batch to a list and never clears it."""
# Lightning-AI/pytorch-lightning#14270: memory usage and training time increases a lot after epoch 0.
# /// leak
# dumps = "steps"
# kinds = ["container"]
# holder = "evaluation_results"
# lines = ["prediction = self.net("]
# bytes = 8192  # 64 x 32 floats, one validation batch after each step
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
        prediction = self.net(batch)
        self.evaluation_results.append(prediction)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


trainer = lightning.Trainer(max_epochs=1, accelerator="cpu", val_check_interval=1, limit_val_batches=1, num_sanity_val_steps=0, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer.fit(Regressor(), DataLoader(torch.randn(60 * 64, 16), batch_size=64), DataLoader(torch.randn(64, 16), batch_size=64))
