"""Progressive unfreezing (ULMFiT) of a transformers GPT-2: the head trains first, at steps 16, 32, 48 one block more; gradients and Adam's state appear then."""
# bytes: at each stage one block of 12*48*48 + 13*48 = 28,272 parameters * 4 B * 3 (gradient, exp_avg, exp_avg_sq) = 339,264 B; none after step 48
# /// healthy
# dumps = "steps"
# ///
import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
config = GPT2Config(vocab_size=256, n_positions=32, n_embd=48, n_layer=3, n_head=4, tie_word_embeddings=False)
model = GPT2LMHeadModel(config)
for p in model.parameters():
    p.requires_grad_(False)
for p in model.lm_head.parameters():
    p.requires_grad_(True)
opt = torch.optim.Adam(model.parameters(), lr=1e-3)


def unfreeze(block):
    for p in model.transformer.h[block].parameters():
        p.requires_grad_(True)


def batch():
    start = torch.randint(0, 256, (8, 1))
    return (start + torch.arange(32)) % 256


model.train()
for step in range(66):
    if step in (16, 32, 48):
        unfreeze(3 - step // 16)
    ids = batch()
    loss = model(input_ids=ids, labels=ids).loss
    opt.zero_grad(set_to_none=False)
    loss.backward()
    opt.step()
print("loss", loss.item(), "states", len(opt.state))
