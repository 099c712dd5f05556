"""Adversarial training; loss.item() and accuracy of every step go to lists: some 70 bytes a step. It holds floats. The last adversarial batch stays alive (one)."""
# looks like: the leak 'losses.append(loss)'
# library: torchattacks
# /// healthy
# dumps = "steps"
# ///
import torch
import torchattacks
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(8 * 49, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
attack = torchattacks.FGSM(model, eps=0.1)
losses, accuracies, last = [], [], {}
for step in range(1, 151):
    images, labels = torch.rand(48, 1, 28, 28), torch.randint(0, 10, (48,))
    adv = attack(images, labels)
    logits = model(adv)
    loss = nn.functional.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    accuracies.append((logits.argmax(1) == labels).float().mean().item())
    last["adv"] = adv
print(sum(losses) / len(losses), max(accuracies))
