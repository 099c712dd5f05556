"""Inside IPython: DisplayHook.cull_cache pops _N from user_ns and Out, not from shell.user_ns_hidden."""
# after: notebook with a limited output cache (InteractiveShell.cache_size = 8): Out is culled, memory grows all the same (found by measuring)
# fix: delete culled names from shell.user_ns_hidden (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "user_ns_hidden"  # shell.user_ns_hidden (entries _1, _2 ...; the last 8 also in shell.user_ns['_oh'] and shell.user_ns['_N'])
# lines = ["shell.run_cell(\"with torch.no_grad():\\n    y = net(torch.ran"]  # made in the cell's code, which the shell runs at this line
# bytes = 32768  # 32,768 (64x128x4: y; made in the cell's code, run by the shell at this line); malloc 34,000
# ///
import os
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
from ask import at

config = Config()
config.InteractiveShell.cache_size = 8
config.HistoryManager.enabled = False
config.HistoryManager.hist_file = ":memory:"
shell = InteractiveShell(config=config)
shell.run_cell("import torch; from torch import nn; torch.manual_seed(0); net = nn.Linear(64, 128).eval()")
import contextlib
import io
import warnings
warnings.simplefilter("ignore")
for i in range(1, 401):
    with contextlib.redirect_stdout(io.StringIO()):
        shell.run_cell("with torch.no_grad():\n    y = net(torch.randn(64, 64))\ny", store_history=True)
    if os.environ.get("FIX"):
        for name in [n for n in shell.user_ns_hidden if n.strip("_").isdigit() and n not in shell.user_ns]:
            del shell.user_ns_hidden[name]
    at(i)
print(len(shell.user_ns["_oh"]), len(shell.user_ns_hidden))
