"""Speech evaluation keeps log-probabilities of every utterance to compute the WER at the end."""
# kind: list of records (dicts) with tensors and text, with jiwer
# after: "evaluation loop of my ASR model runs out of memory" (all logits kept until the metric)
# fix: "log_probs" is not stored (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "results["  # results (list of dicts: "log_probs")
# lines = ["return acoustic(audio).transpose(1, 2).log_softmax(2)"]  # log_softmax
# bytes = 48000  # log_probs 2x100x60x4 = 48000; texts are short; measured, bytes a step in 20..40, 40..60: tensors that gc sees 48000,48000, malloc in use 49992,49723, rss 52224,54067; with FIX: malloc 521,348, rss 1843,409
# ///
import os
import jiwer
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
words = [f"w{k}" for k in range(60)]
acoustic = nn.Sequential(nn.Conv1d(20, 32, 5, padding=2), nn.ReLU(), nn.Conv1d(32, 60, 1)).eval()
results = []


def decode(ids):
    kept = [int(k) for n, k in enumerate(ids) if n == 0 or k != ids[n - 1]]
    return " ".join(words[k] for k in kept[:12])


def error_rate(last):
    return jiwer.wer([r["text"] for r in results[-last:]], [r["hyp"] for r in results[-last:]])


@torch.no_grad()
def transcribe(audio):
    return acoustic(audio).transpose(1, 2).log_softmax(2)


for i in range(1, 71):
    audio = torch.randn(2, 20, 100)
    log_probs = transcribe(audio)
    for n in range(2):
        record = {"id": f"{i}-{n}", "text": " ".join(words[: 5 + n]), "hyp": decode(log_probs[n].argmax(1))}
        if not os.environ.get("FIX"):
            record["log_probs"] = log_probs[n]
        results.append(record)
    if i % 20 == 0:
        print(i, "wer", round(error_rate(20), 3), len(results))
    at(i)
