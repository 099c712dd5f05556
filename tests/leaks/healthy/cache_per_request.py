"""Each request generates with a key-value cache of its own, which grows with every token and goes with the answer."""
# /// healthy
# dumps = "requests"
# ///
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import DynamicCache

model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, hidden_size=64, intermediate_size=128, num_attention_heads=2, num_key_value_heads=2,
                                     vocab_size=200)).eval()
for line in sys.stdin:
    cache, tokens = DynamicCache(config=model.config), torch.randint(200, (1, 16 + int(line) % 16))
    with torch.no_grad():
        for _ in range(8):
            output = model(tokens, past_key_values=cache, use_cache=True)
            tokens = output.logits[:, -1:].argmax(-1)
    print(tokens.item(), flush=True)
