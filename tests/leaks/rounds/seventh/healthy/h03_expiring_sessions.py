"""At most 12 entries, full after step 12; each has a state of 48 KiB; every request has a new key."""
# report: "sessions are never dropped?": hidden states of users in an ExpiringDict(max_len=12)
# library: expiringdict
# /// healthy
# dumps = "asks"
# ///
import torch
import torch.nn as nn
from expiringdict import ExpiringDict
from ask import at

sessions = ExpiringDict(max_len=12, max_age_seconds=3600)
torch.manual_seed(0)
cell = nn.GRU(16, 64, batch_first=True).eval()


@torch.inference_mode()
def answer(user, text):
    h = sessions.get(user)
    if h is None:
        h = torch.zeros(1, text.shape[0], 64)
    out, h = cell(text, h)
    sessions[user] = h
    return out[:, -1]


for request in range(1, 71):
    for _ in range(3):
        text = torch.randn(192, 5, 16)
        reply = answer(f"user-{request}", text)
    if request % 20 == 0:
        print(request, reply.mean().item(), len(sessions), flush=True)
    at(request)
