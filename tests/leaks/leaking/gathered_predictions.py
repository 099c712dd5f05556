"""Evaluation concatenates the predictions of all batches on the device: one tensor that is replaced by a longer one."""
# huggingface/transformers#7232: trainer.evaluate() aggregates predictions on GPU and causes CUDA out of memory issues for large datasets
# huggingface/transformers#7158: OOM Issue when evaluating with Trainer
# /// leak
# dumps = "requests"
# kinds = ["larger-tensor", "container", "place"]
# holder = "preds"
# lines = ["preds = logits if "]
# bytes = 65536  # 8 x 32 positions x 64 words
# ///
import sys

import torch
from torch import nn


@torch.no_grad()
def prediction_loop(model, batches):
    preds = None
    for line in batches:
        logits = model(torch.randint(100, (8, 32)))
        preds = logits if preds is None else torch.cat((preds, logits), dim=0)
        print(preds.shape[0], flush=True)
    return preds


model = nn.Sequential(nn.Embedding(100, 32), nn.Linear(32, 64))
prediction_loop(model.eval(), sys.stdin)
