"""The results of a step, kept up to the end of the epoch, have the bag of images that the encoder was given."""
# microsoft/hi-ml#293: BUG: Mitigate DeepMIL GPU memory leak in results dict
# Shreeyak/pytorch-lightning-segmentation-template#43: returning images takes up gpu mem - Save images as lightningmodule attribute
# /// leak
# dumps = "steps"
# kinds = ["container", "accumulated-graph"]
# holder = "outputs"
# lines = ["images = ", "loss = "]
# bytes = [98304, 99500]  # eight tiles of 3 x 32 x 32 floats, a loss, eight labels
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


def shared_step(model, images, label):
    logits = model(images)
    loss = nn.functional.cross_entropy(logits, label)
    return {"loss": loss, "image": images, "label": label}


def train():
    model, outputs = DeepMIL(), []
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for slide in range(60):
        images = torch.randn(8, 3, 32, 32)
        results = shared_step(model, images, torch.tensor([slide % 2]))
        optimizer.zero_grad()
        results["loss"].backward()
        optimizer.step()
        outputs.append(results)


train()
