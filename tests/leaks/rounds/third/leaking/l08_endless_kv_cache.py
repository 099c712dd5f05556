"""One key-value cache of a stream that never ends is never cut."""
# after: huggingface/transformers: past_key_values of an endless stream
# fix: crop it (self.cache.crop / a sliding window) or start a new cache per document
# /// leak
# dumps = "asks"
# kinds = ["larger-tensor", "container", "module-cache"]
# holder = "stream.cache"
# lines = ["out = self.model(input_ids=ids"]
# bytes = 32768  # 2 layers, keys and values, 4 heads x 16 tokens x 32 floats: 4 tensors, each replaced by a larger one
# ///
import torch
from transformers import LlamaConfig, LlamaForCausalLM, DynamicCache
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

config = LlamaConfig(vocab_size=128, hidden_size=128, intermediate_size=128, num_hidden_layers=2,
                     num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=4096)
model = LlamaForCausalLM(config).eval()


class Stream:
    def __init__(self, model):
        self.model, self.cache = model, DynamicCache()

    @torch.no_grad()
    def feed(self, ids):
        out = self.model(input_ids=ids, past_key_values=self.cache, use_cache=True, logits_to_keep=1)
        return int(out.logits[0, -1].argmax())


stream = Stream(model)
token = 1
for step in range(1, 67):
    ids = torch.randint(0, 128, (1, 16))
    ids[0, 0] = token
    token = stream.feed(ids)
    at(step)
print("last token", token)
