"""A notebook shell without output cache (cache_size=0): Out stays empty, only _, __ and ___ hold the last three values (32 KiB each). Every cell makes a new tensor. Constant from cell 3 on."""
# library: ipython
# /// healthy
# dumps = "asks"
# ///
import torch
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config
from ask import at

config = Config()
config.InteractiveShell.cache_size = 0
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
    at(i)
print(len(shell.user_ns.get("_oh", {})))
