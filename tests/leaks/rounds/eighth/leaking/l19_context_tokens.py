"""Context variable; Token.old_value, with contextvars."""
# after: issue "ContextVar.set in middleware, tokens kept for a reset at shutdown: old values stay alive"
# fix: current.reset(token) at the end of the request (FIX)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "tokens"  # `tokens` (list of contextvars.Token, each keeps old_value)
# lines = ["self.activations = net(batch)"]
# bytes = 18432  # 48 x 96 x 4 = 18432 a step; measured 18432 18432 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import contextvars
import os
import torch
from ask import at

torch.manual_seed(0)
current = contextvars.ContextVar("request_state", default=None)
tokens = []
net = torch.nn.Linear(96, 96)


class RequestState:
    def __init__(self, request_id, batch):
        self.request_id = request_id
        with torch.inference_mode():
            self.activations = net(batch)  # LEAK


def middleware(request_id):
    token = current.set(RequestState(request_id, torch.randn(48, 96)))
    answer = current.get().activations.argmax(1).tolist()
    if os.environ.get("FIX"):
        current.reset(token)
    else:
        tokens.append(token)
    return answer


for step in range(1, 71):
    middleware(step)
    at(step)
print(len(tokens))
