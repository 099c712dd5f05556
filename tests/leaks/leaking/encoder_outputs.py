"""Encoder outputs are freed before the model runs, in the step that makes them: nothing is there yet, and nothing is freed later."""
# vllm-project/vllm#32789: [Bugfix] Fix Whisper/encoder-decoder GPU memory leak
# /// leak
# dumps = "requests"
# kinds = ["container", "module-cache"]
# holder = "encoder_cache"
# lines = ["return torch.relu("]
# bytes = 25600  # 100 x 64 floats
# ///
import sys

import torch
from torch import nn


class CacheManager:
    def __init__(self):
        self.freed = []

    def allocate(self, mm_hash):
        self.freed.append(mm_hash)

    def get_freed_mm_hashes(self):
        freed, self.freed = self.freed, []
        return freed


class ModelRunner:
    def __init__(self):
        self.encoder, self.decoder, self.encoder_cache = nn.Linear(80, 64), nn.Linear(64, 200), {}

    def encode(self, audio):
        return torch.relu(self.encoder(audio))

    @torch.no_grad()
    def execute_model(self, mm_hash, audio, freed):
        for old in freed:
            self.encoder_cache.pop(old, None)
        self.encoder_cache[mm_hash] = self.encode(audio)
        return self.decoder(self.encoder_cache[mm_hash]).argmax(-1)


manager, runner = CacheManager(), ModelRunner()
for line in sys.stdin:
    manager.allocate(int(line))
    tokens = runner.execute_model(int(line), torch.randn(100, 80), manager.get_freed_mm_hashes())
    print(tokens[:4].tolist(), flush=True)
