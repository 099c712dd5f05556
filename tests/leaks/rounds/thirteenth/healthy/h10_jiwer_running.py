"""Two integers and a list that is cut to 8."""
# about: WER by running counts, predictions of the last 8 batches for a look.
# kind: evaluation with counts
# looks like: a list of logits with text
# library: jiwer
# measured: bytes a step in 20..40, 40..60: tensors that gc sees 0,0, malloc in use 428,166, rss 1433,-204
# /// healthy
# dumps = "asks"
# ///
import jiwer
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Conv1d(20, 32, 5, padding=2), nn.ReLU(), nn.Conv1d(32, 60, 1)).eval()
look, errors, total = [], 0, 0
for i in range(1, 71):
    with torch.no_grad():
        logits = net(torch.randn(4, 20, 80))
    hyps = [" ".join(f"w{k}" for k in row.argmax(0)[:12].tolist()) for row in logits]
    refs = [" ".join(f"w{k}" for k in range(12))] * 4
    m = jiwer.process_words(refs, hyps)
    errors += m.substitutions + m.deletions + m.insertions
    total += 48
    look.append((hyps, logits))
    look = look[-8:]
    if i % 20 == 0:
        print(i, errors / total, len(look))
    at(i)
