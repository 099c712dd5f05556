"""A streaming decoder that feeds back the cache of keys and values and never starts anew."""
# kind: KV cache; tensors replaced by ones a token longer (torch.cat); no optimizer, with x-transformers.
# after: "Memory keeps growing in streaming generation with return_intermediates / cache" (x-transformers)
# fix: start a new cache every 16 tokens (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["larger-tensor", "container", "module-cache"]
# holder = "streamer.cache"  # `streamer.cache` (LayerIntermediates; `.attn_intermediates[*].cached_kv`), replaced each step by a longer one; its other tensors do not grow or are replaced
# lines = ["logits, self.cache = self.model(seq, cache=self.cache, retur"]
# bytes = 29824  # per token 3 layers x 2 (k, v) x batch 8 x 4 heads x 32 float32 = 24576 a step; measured 29.1 KiB: 24576 of keys and values, 4096 of `initial_embeds` / `hiddens[0]` (the last token as a view of the whole sequence), 1152 of attention scores (one token longer each step), all of them in `streamer.cache`
# ///
import os

import torch
from x_transformers import Decoder, TransformerWrapper

from ask import at


class Streamer:
    def __init__(self):
        self.model = TransformerWrapper(
            num_tokens=300, max_seq_len=0, use_abs_pos_emb=False,
            attn_layers=Decoder(dim=128, depth=3, heads=4, attn_dim_head=32, rotary_pos_emb=True)).eval()
        self.cache = None
        self.tokens = torch.randint(300, (8, 1))
        self.n = 0

    @torch.no_grad()
    def next(self):
        self.n += 1
        if os.environ.get("FIX") and self.n % 16 == 0:
            self.cache = None
        pos = 0 if self.cache is None else self.cache.cache_length
        seq = torch.cat([torch.zeros(8, pos, dtype=torch.long), self.tokens], 1) if pos else self.tokens
        logits, self.cache = self.model(seq, cache=self.cache, return_intermediates=True)
        self.tokens = logits[:, -1:].argmax(-1)
        return self.tokens


def main():
    torch.manual_seed(0)
    streamer = Streamer()
    for i in range(1, 101):
        token = streamer.next()
        at(i)
    print("last", token.flatten().tolist())


if __name__ == "__main__":
    main()
