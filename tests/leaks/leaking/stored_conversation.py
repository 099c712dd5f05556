"""A stored key-value cache is passed to every answer, which writes its own keys and values to the end of it."""
# MemTensor/MemOS#2301: The stored activation DynamicCache is mutated in place by generation, so activation memory grows every turn
# /// leak
# dumps = "requests"
# kinds = ["larger-tensor", "container", "place"]
# holder = "layers["
# lines = ["output = model("]
# bytes = 16384  # keys and values of two layers: 2 heads x 16 tokens x 32 floats
# ///
import sys

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.cache_utils import DynamicCache


class KVCacheItem:
    def __init__(self, memory):
        self.memory = memory


model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=2, hidden_size=64, intermediate_size=128, num_attention_heads=2, num_key_value_heads=2,
                                     vocab_size=200)).eval()
activation_memory = [KVCacheItem(DynamicCache(config=model.config))]
for line in sys.stdin:
    with torch.no_grad():
        output = model(torch.randint(200, (1, 16)), past_key_values=activation_memory[0].memory, use_cache=True)
    print(output.logits.mean().item(), flush=True)
