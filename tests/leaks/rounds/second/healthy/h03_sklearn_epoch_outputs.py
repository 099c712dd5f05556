"""Outputs collected during an epoch of 50 steps, scored with scikit-learn at its end, list cleared: dumps 20 and 40 lie in epoch 1, 60 in epoch 2."""
# bytes a step: 256*4*2 = 2 * 1,024 B scores and targets + features 128*256*4 = 131,072 B inside an epoch; back to 0 at step 50 (10 entries at dump 60)
# /// healthy
# dumps = "steps"
# ///
import torch
from sklearn.metrics import roc_auc_score
from torch import nn

torch.manual_seed(0)
EPOCH = 50
model = nn.Sequential(nn.Linear(16, 128), nn.ReLU())
head = nn.Linear(128, 1)
opt = torch.optim.Adam([*model.parameters(), *head.parameters()], lr=1e-2)
collected = []
aucs = []


def end_of_epoch():
    scores = torch.cat([c["score"] for c in collected])
    target = torch.cat([c["target"] for c in collected])
    spread = torch.cat([c["features"] for c in collected]).std(0).mean().item()
    aucs.append((roc_auc_score(target.numpy(), scores.numpy()), spread))
    collected.clear()


for step in range(66):
    x = torch.randn(256, 16)
    y = (x[:, :4].sum(1) > 0).float()
    features = model(x)
    logit = head(features)[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(logit, y)
    opt.zero_grad()
    loss.backward()
    collected.append({"score": logit.detach(), "target": y, "features": features.detach()})
    opt.step()
    if (step + 1) % EPOCH == 0:
        end_of_epoch()
print("auc", aucs)
