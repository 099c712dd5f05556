"""Exceptions, with tenacity."""
# after: "failed requests kept for a report: memory grows" (exceptions keep the frames of their traceback)
# fix: failures.append(repr(e))
# /// leak
# dumps = "asks"
# kinds = ["traceback", "container", "module-cache"]
# holder = "failures"  # failures[*] (RetryError -> exception -> traceback -> frames: locals of score() and handle())
# lines = ["feats = model(batch)", "batch = torch.randn(64, 64)"]
# bytes = 40960  # every second step 16384 batch + 65536 feats; the last attempt's frames
# ///
import os
import torch
from tenacity import RetryError, retry, stop_after_attempt
from torch import nn
from ask import at

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256)).eval()
failures = []


@retry(stop=stop_after_attempt(2))
def score(batch):
    feats = model(batch)
    if torch.isnan(feats).any():
        raise ValueError("NaN in features")
    return feats.mean(1)


def handle(step):
    batch = torch.randn(64, 64)
    if step % 2:
        batch[3, 5] = float("nan")  # a malformed request
    try:
        return score(batch)
    except RetryError as e:
        failures.append(repr(e) if os.environ.get("FIX") else e)


with torch.inference_mode():
    for i in range(1, 64):
        handle(i)
        at(i)
print(len(failures))
