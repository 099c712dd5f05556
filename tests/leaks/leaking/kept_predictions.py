"""Lightning's predict keeps what each batch returns, though each was already written."""
# Lightning-AI/pytorch-lightning#15656: Trainer.predict on really large dataset cause CPU out-of-memory
# Lightning-AI/pytorch-lightning#6508: trainer.predict method should return iterator instead of list
# kaiko-ai/eva#172: Fix memory leakage in predict function
# /// leak
# dumps = "requests"
# kinds = ["container"]
# holder = "_predictions"
# lines = ["return self.net(batch)"]
# bytes = 32768  # 64 x 128 floats
# ///
import sys
import warnings

import lightning
import torch
from torch import nn

warnings.simplefilter("ignore")


class Lines(torch.utils.data.Dataset):
    """One batch for each line of standard input; asking for the next one means that the one before is done."""

    def __len__(self):
        return 61

    def __getitem__(self, number):
        if number > 0:
            print(number, flush=True)
        sys.stdin.readline()
        return torch.randn(64, 32)


class Embedder(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(32, 128)

    def predict_step(self, batch):
        return self.net(batch)


trainer = lightning.Trainer(accelerator="cpu", logger=False, enable_progress_bar=False, enable_checkpointing=False,
                            enable_model_summary=False)
trainer.predict(Embedder(), torch.utils.data.DataLoader(Lines(), batch_size=None))
