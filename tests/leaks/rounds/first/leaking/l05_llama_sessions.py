"""Key-value caches of finished conversations are kept by user."""
# after: huggingface/transformers: memory grows with past_key_values between requests
# fix: del self.sessions[user] when the conversation ends (or keep the last N)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "server.sessions"
# lines = ["out = self.model(ids, use_cache=True)"]
# bytes = 131072  # two layers, keys and values, 128 tokens x 64 floats
# ///
import torch
from transformers import LlamaConfig, LlamaForCausalLM
import ask

torch.manual_seed(0)


class Server:
    def __init__(self):
        config = LlamaConfig(
            vocab_size=256, hidden_size=64, intermediate_size=128, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=512,
        )
        self.model = LlamaForCausalLM(config).eval()
        self.sessions = {}

    @torch.no_grad()
    def chat(self, user, ids):
        out = self.model(ids, use_cache=True)
        self.sessions[user] = out.past_key_values
        return out.logits[:, -1].argmax(-1).item()


server = Server()
answers = []
for request in range(1, 67):
    ids = torch.randint(0, 256, (1, 128))
    answers.append(server.chat(f"user-{request}", ids))
    ask.at(request)
print("answers", len(answers), "sessions", len(server.sessions))
