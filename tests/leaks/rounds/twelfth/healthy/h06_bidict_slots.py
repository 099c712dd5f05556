"""10 slots; a finished session's slot is given to the next. States are replaced at each step. Sessions come and go in all steps; full from step 10."""
# report: "session table of the decoder grows" (slots of a KV cache, mapped both ways)
# library: bidict
# /// healthy
# dumps = "asks"
# ///
import torch
import torch.nn as nn
from bidict import bidict

from ask import at

torch.manual_seed(0)
slots = bidict()
states = {}
cell = nn.GRUCell(16, 512).eval()
free, age = list(range(10)), {}
with torch.no_grad():
    for i in range(1, 71):
        session = f"s{i}"
        if not free:
            oldest = min(age, key=age.get)
            free.append(slots.pop(oldest))
            states.pop(oldest)
            del age[oldest]
        slots[session], age[session] = free.pop(), i
        states[session] = torch.zeros(8, 512)
        for s in list(slots):
            states[s] = cell(torch.randn(8, 16), states[s])
        at(i)
print(len(slots), slots.inverse[3])
