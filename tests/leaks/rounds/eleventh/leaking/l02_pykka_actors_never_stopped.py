"""Actors (threads) that never end, registry of a library, with pykka."""
# after: "pykka actors are not garbage collected": an actor per request, started and never stopped; each has a thread and its state
# fix: ref.stop() when the answer is there
# /// leak
# dumps = "asks"
# kinds = ["unfinished-calls", "container", "module-cache"]
# holder = "thread Session"  # pykka.ActorRegistry._actor_refs (list of refs; each keeps the actor and its features) and the actor's thread itself: both end with ref.stop(); correction: ActorRegistry's refs are weak (ActorRef._actor_weakref): the actor's thread alone keeps its features
# lines = ["self.features = encoder(document)"]
# bytes = 65536  # 65536 in tensors (malloc in use grows by 899,000: a thread that worked keeps about 0.8 MiB of native buffers) (one 32x512 float32 tensor a request; besides one idle thread a request outside tensors)
# ///
import os

import pykka
import torch
import torch.nn as nn
from ask import at

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 512)).eval()
head = nn.Linear(512, 8).eval()


class Session(pykka.ThreadingActor):
    use_daemon_thread = True

    def __init__(self, name):
        super().__init__()
        self.name = name

    def load(self, document):
        with torch.no_grad():
            self.features = encoder(document)
        return len(self.features)

    def answer(self):
        with torch.no_grad():
            return head(self.features).mean(0).argmax().item()


answers = []
for request in range(1, 71):
    ref = Session.start(f"user{request}")
    session = ref.proxy()
    session.load(torch.randn(32, 256)).get()
    answers.append(session.answer().get())
    if os.environ.get("FIX"):
        ref.stop()
    at(request)
print("answers", sum(answers))
