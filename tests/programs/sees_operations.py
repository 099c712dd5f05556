"""What a program that looks sees of the operations and functions on its own thread, as JSON: what follows the operations of all threads,
then modes and profiler of this thread, then what sees Python's functions."""
import json
import os
import sys
import tempfile

import torch
from torch.overrides import TorchFunctionMode
from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

seen = {}


class Functions(TorchFunctionMode):
    def __torch_function__(self, function, types, arguments=(), keywords=None):
        seen["function mode"].append(getattr(function, "__name__", str(function)))
        return function(*arguments, **(keywords or {}))


torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def step():
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).sum()
    seen.setdefault("sequence numbers", []).append(loss.grad_fn._sequence_nr())
    loss.backward()
    optimizer.step()


def with_observer():
    path = tempfile.mkdtemp(dir=os.getcwd()) + "/trace.json"
    observer = ExecutionTraceObserver().register_callback(path)
    observer.start()
    step()
    observer.stop()
    observer.unregister_callback()
    with open(path) as file:
        seen["observer"] = [node["name"] for node in json.load(file)["nodes"]]


def with_modes():
    seen["function mode"] = []
    with Functions(), profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step()
    seen["profiler"] = [event.name for event in profiler.events()]


def with_python_profiler():
    functions = []
    sys.setprofile(lambda frame, event, argument: functions.append((event, frame.f_code.co_filename, frame.f_code.co_name)))
    step()
    sys.setprofile(None)
    seen["functions"] = [each[2] for each in functions if each[:2] == ("call", "<tensorscope>")]


with_observer()
with_modes()
with_python_profiler()
seen["modes"] = [torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_rng_state().sum().item()]
print(json.dumps(seen))
