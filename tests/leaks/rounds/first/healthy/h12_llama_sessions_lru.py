"""huggingface/transformers: key-value caches per session, the 8 most recent only, turns of different length; longer conversations are cut."""
# bytes a request: 0 on average (8 sessions, at most 192 tokens * 2*2*64*4 B each)
# /// healthy
# dumps = "asks"
# ///
import collections
import torch
from transformers import LlamaConfig, LlamaForCausalLM
import ask

torch.manual_seed(0)
config = LlamaConfig(
    vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=512,
)
model = LlamaForCausalLM(config).eval()
sessions = collections.OrderedDict()


@torch.no_grad()
def turn(user, tokens):
    past = sessions.pop(user, None)
    if past is not None and past.get_seq_length() + tokens > 192:
        past = None
    ids = torch.randint(0, 256, (1, tokens))
    out = model(ids, past_key_values=past, use_cache=True)
    sessions[user] = out.past_key_values
    while len(sessions) > 8:
        sessions.popitem(last=False)
    return out.logits[:, -1].argmax(-1).item()


lengths = torch.randint(16, 96, (66,)).tolist()
for request in range(1, 67):
    turn(request * 7 % 12, lengths[request - 1])
    ask.at(request)
print("sessions", len(sessions))
