"""A store of saved tensors that unpack reads and never pops."""
# after: pytorch's forum: activations that are moved away, saved_tensors_hooks
# fix: return self.store.pop(key) in unpack (and clear the store after each step)
# /// leak
# dumps = "steps"
# kinds = ["container", "module-cache"]
# holder = "offload.store"
# lines = ["self.store[self.n] = t.detach().clone()"]
# bytes = 261188  # measured: the clones of what one forward pass saves
# ///
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
torch.set_num_threads(1)


class Offload:
    def __init__(self):
        self.store, self.n = {}, 0

    def pack(self, t):
        self.n += 1
        self.store[self.n] = t.detach().clone()
        return self.n

    def unpack(self, key):
        return self.store[key]


config = GPT2Config(vocab_size=64, n_positions=32, n_embd=16, n_layer=1, n_head=2, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
                    bos_token_id=0, eos_token_id=0)
model = GPT2LMHeadModel(config)
opt = torch.optim.SGD(model.parameters(), lr=0.01)
offload = Offload()
for step in range(66):
    ids = torch.randint(0, 64, (4, 24))
    with torch.autograd.graph.saved_tensors_hooks(offload.pack, offload.unpack):
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
    opt.step()
    opt.zero_grad()
print("loss", round(loss.item(), 3))
