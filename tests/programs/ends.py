"""Ends in the way its argument says: return, status, exception, os_exit, kill, thread."""
import os
import signal
import sys
import threading

import torch

kept = torch.ones(1000)
print("before the end", flush=True)
how = sys.argv[1]
if how == "status":
    sys.exit(3)
elif how == "exception":
    raise ValueError("as planned")
elif how == "os_exit":
    os._exit(4)
elif how == "kill":
    os.kill(os.getpid(), signal.SIGTERM)
elif how == "thread":
    threading.Thread(target=lambda: print("late thread", torch.ones(3).sum().item())).start()
