# SPDX-License-Identifier: Apache-2.0
"""Trains a small network on scikit-learn's handwritten digits. It has a leak: find it with tensorscope."""

import torch
from sklearn.datasets import load_digits
from torch import nn

STEPS = 600


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Linear(16 * 4 * 4, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 10))

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


def train_step(model, optimizer, images, labels, losses):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    losses.append(loss)
    return loss


def confidence(model, images, seen):
    scores = model(images).softmax(dim=1)
    seen.append(scores.max(dim=1).values)
    return scores.argmax(dim=1)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    model = DigitNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    losses, seen = [], []
    for step in range(1, STEPS + 1):
        batch = torch.randint(0, len(images), (64,))
        loss = train_step(model, optimizer, images[batch], labels[batch], losses)
        if step % 5 == 0:
            predicted = confidence(model, images[batch], seen)
        if step % 50 == 0:
            right = (predicted == labels[batch]).float().mean().item()
            print(f"step {step:4d} of {STEPS}   loss {loss.item():.3f}   right {right:4.0%}", flush=True)


if __name__ == "__main__":
    main()
