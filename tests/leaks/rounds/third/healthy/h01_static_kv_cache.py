"""A StaticCache (transformers) of fixed size is filled token by token and reset per document; out.logits of the last call only."""
# /// healthy
# dumps = "asks"
# ///
import torch
from transformers import LlamaConfig, LlamaForCausalLM, StaticCache
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)

config = LlamaConfig(vocab_size=128, hidden_size=128, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                     num_key_value_heads=4, max_position_embeddings=2048, bos_token_id=0, eos_token_id=0)
model = LlamaForCausalLM(config).eval()
cache = StaticCache(config=config, max_cache_len=512)
position = 0
for step in range(1, 67):
    if position + 8 > 512 or step % 45 == 0:
        cache.reset()
        position = 0
    ids = torch.randint(0, 128, (1, 8))
    with torch.no_grad():
        out = model(input_ids=ids, past_key_values=cache, use_cache=True, position_ids=torch.arange(position, position + 8)[None])
    position += 8
    at(step)
print("next", int(out.logits[0, -1].argmax()))
