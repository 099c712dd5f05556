"""Registry of a library, with transitions."""
# after: transitions FAQ "models must be removed": each request is added to one shared Machine and never removed
# fix: machine.remove_model(request)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "machine.models"  # machine.models (list of Request; attribute mel)
# lines = ["request.mel = spectrum.abs().log1p()"]
# bytes = 32508  # 129 x 63 float32; storages
# ///
import os

import torch
import torch.nn as nn
from ask import at
from transitions import Machine


class Request:
    def __init__(self, number, audio):
        self.number = number
        self.audio = audio
        self.mel = None
        self.text = None


window = torch.hann_window(256)
torch.manual_seed(0)
acoustic = nn.Sequential(nn.Linear(129, 64), nn.ReLU(), nn.Linear(64, 30)).eval()
machine = Machine(model=None, states=["new", "featured", "done"], initial="new", auto_transitions=False)
machine.add_transition("featurize", "new", "featured")
machine.add_transition("finish", "featured", "done")

with torch.inference_mode():
    for number in range(1, 71):
        request = Request(number, None)
        machine.add_model(request)
        audio = torch.randn(8000)
        spectrum = torch.stft(audio, 256, 128, window=window, return_complex=True)
        request.mel = spectrum.abs().log1p()
        request.featurize()
        request.text = acoustic(request.mel.T).argmax(1).tolist()
        request.finish()
        if os.environ.get("FIX"):
            machine.remove_model(request)
        if number % 20 == 0:
            print(number, request.state, len(machine.models), flush=True)
        at(number)
