"""With this folder on the path, a Python program writes its portrait to the file PORTRAIT_AT_EXIT as its last act: its exit
function is registered first. Child processes write none."""

import atexit
import json
import os
import sys

if os.environ.get("PORTRAIT_AT_EXIT") and os.getppid() == int(os.environ["PORTRAIT_PARENT"]):
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from portrait import portrait

    _process = os.getpid()

    def _write():
        if os.getpid() == _process:
            seen = portrait()
            with open(os.environ["PORTRAIT_AT_EXIT"], "w") as file:
                json.dump(seen, file)

    atexit.register(_write)
