"""Autograd graph kept by results of evaluation, with torchvision."""
# after: forum "memory grows while I extract features with a pretrained torchvision model" (no torch.no_grad)
# fix: with torch.no_grad() (FIX)
# /// leak
# dumps = "asks"
# kinds = ["accumulated-graph", "state-not-detached", "container", "module-cache"]
# holder = "embeddings"  # `embeddings` (list)
# lines = ["feat = extractor(images)[\"feat\"]"]
# bytes = 88128  # output 2 x 8 x 16 x 16 x 4 = 16384 a step and what the graph saves (BatchNorm/ReLU/conv inputs of the block); measured by gc 71744 of tensors with Python objects; all saved storages by own saved_tensors_hooks (saved_bytes.py): 6144 + 5 x 16384 = 88064, + 64 of the result = 88128 a step; malloc in use +102.9 KB (nodes of the graph and Python objects included)
# ///
import contextlib
import os
import torch
from torchvision.models.resnet import BasicBlock
from torchvision.models.feature_extraction import create_feature_extractor
from ask import at

torch.manual_seed(0)
backbone = torch.nn.Sequential()
backbone.add_module("stem", torch.nn.Conv2d(3, 8, 3, padding=1))
backbone.add_module("block", BasicBlock(8, 8))
backbone.add_module("head", torch.nn.Conv2d(8, 4, 1))
backbone.eval()
extractor = create_feature_extractor(backbone, {"block.relu_1": "feat"})
embeddings = []


def main():
    for step in range(1, 71):
        images = torch.rand(2, 3, 16, 16)
        with torch.no_grad() if os.environ.get("FIX") else contextlib.nullcontext():
            feat = extractor(images)["feat"]  # LEAK
        embeddings.append(feat.mean(dim=(2, 3)).detach() if os.environ.get("FIX") else feat.mean(dim=(2, 3)))
        at(step)
    print(torch.cat(embeddings).shape)


main()
