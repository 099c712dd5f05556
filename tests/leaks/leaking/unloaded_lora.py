"""Weights of LoRAs are read, applied and unloaded, but the loader keeps every state dict that it has read."""
# huggingface/diffusers#8532: Progressive Memory Increase on loading lora weights
# /// leak
# dumps = "requests"
# kinds = ["module-cache", "container"]
# holder = "_state_dicts"
# lines = ["return {f\"{layer}"]
# bytes = 32768  # 4 layers, down and up of 4 x 256 floats
# ///
import sys

import torch
from torch import nn


def read_file(path):
    return {f"{layer}.{part}": torch.randn(4, 256) for layer in range(4) for part in ("down", "up")}


class LoraLoader:
    _state_dicts = {}

    def lora_state_dict(self, path):
        if path not in self._state_dicts:
            self._state_dicts[path] = read_file(path)
        return self._state_dicts[path]


class Pipeline(LoraLoader):
    def __init__(self):
        self.unet = nn.ModuleList(nn.Linear(256, 256) for _ in range(4))
        self.unet.requires_grad_(False)

    def load_lora_weights(self, path):
        self.delta = [self.lora_state_dict(path)[f"{i}.up"].T @ self.lora_state_dict(path)[f"{i}.down"] for i in range(4)]

    def unload_lora_weights(self):
        self.delta = None

    def __call__(self, x):
        for layer, delta in zip(self.unet, self.delta):
            x = torch.tanh(layer(x) + x @ delta)
        return x


pipeline = Pipeline()
for line in sys.stdin:
    pipeline.load_lora_weights(f"styles/{line.strip()}.safetensors")
    print(pipeline(torch.randn(2, 256)).mean().item(), flush=True)
    pipeline.unload_lora_weights()
