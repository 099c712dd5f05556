"""The results of nine steps, with the images, are kept for a gallery of the worst two, and cleared then."""
# /// healthy
# dumps = "steps"
# ///
import torch
from torch import nn


class DeepMIL(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.attention = nn.Linear(128, 1)
        self.classifier = nn.Linear(128, 2)

    def forward(self, images):
        features = self.encoder(images)
        weights = self.attention(features).softmax(0)
        return self.classifier((weights * features).sum(0, keepdim=True))


def train():
    model, outputs, gallery = DeepMIL(), [], []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for slide in range(60):
        images = torch.randn(8, 3, 32, 32)
        loss = nn.functional.cross_entropy(model(images), torch.tensor([slide % 2]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        outputs.append({"loss": loss.item(), "image": images})
        if len(outputs) == 9:
            gallery = sorted(outputs, key=lambda output: output["loss"])[-2:]
            outputs.clear()
    return gallery


train()
