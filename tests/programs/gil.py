"""Asks the bridge's probe (first argument) for names while another thread keeps the GIL, afterwards, in a forked child, and
under whatever watches Python code run. Needs no torch."""
import ctypes
import gc
import os
import sys
import threading
import time
import types
import warnings

import bridge

for name in ("torch", "torch.nn", "torch.nn.modules", "torch.nn.modules.module"):
    sys.modules.setdefault(name, types.ModuleType(name))
sys.modules["torch.nn.modules.module"].Module = type("Module", (), {})
warnings.simplefilter("ignore")  # a fork with threads
probe = bridge.attached(sys.argv[1])
with_gil = ctypes.PyDLL(sys.argv[1])  # its functions are called with the GIL held
with_gil.probe_names.restype = ctypes.c_char_p


def names(timeout_ms=60_000):
    return bridge.names(probe, timeout_ms)[0]


# The main thread keeps the GIL while it waits for the answer, so the bridge's thread cannot have it.
print("busy:", bridge.names(with_gil, 50)[0])

# A child forked while a thread of the bridge waits for the GIL.
answers = []
asker = threading.Thread(target=lambda: answers.append(names(1)))
asker.start()
pid = os.fork()
if pid == 0:
    bridge.forked(probe)
    print("child:", names(), flush=True)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
asker.join()
print("after:", names())

# Many askers at once, while the GIL changes hands all the time.
askers = [threading.Thread(target=lambda: answers.append(names(i % 3))) for i in range(50)]
for asker in askers:
    asker.start()
for asker in askers:
    asker.join()

# A look that does not end: an audit hook of the program's that blocks. From 3.12 on the look causes no audit event;
# before 3.8.9 and 3.9.3 the interpreter has none.
go_on = threading.Event()
go_on.set()
looks = []


def block(event, _):
    if event == "gc.get_objects":
        looks.append(event)
        go_on.wait()


if sys.version_info < (3, 12):
    sys.addaudithook(block)
    gc.get_objects()
if looks:
    go_on.clear()
    print("blocked:", names(2000))  # long enough to have the GIL on a busy machine
    print("behind it:", names(10))
    go_on.set()
    print("unblocked:", names())

events = []
watch = lambda *arguments: events.append(arguments) if threading.get_ident() != own else None
own = threading.get_ident()
threading.settrace(watch)
threading.setprofile(watch)
if hasattr(sys, "monitoring"):
    sys.monitoring.use_tool_id(3, "test")
    sys.monitoring.register_callback(3, sys.monitoring.events.PY_START, watch)
    sys.monitoring.set_events(3, sys.monitoring.events.PY_START)
before = threading.enumerate()
for _ in range(10):
    names()
assert threading.enumerate() == before
print("monitored:", len(events), "events")
end = time.monotonic() + 60
while time.monotonic() < end:
    tasks = os.listdir("/proc/self/task")
    if len(tasks) == 1:
        break
    time.sleep(0.01)
assert len(tasks) == 1, "the bridge's thread is still there"
