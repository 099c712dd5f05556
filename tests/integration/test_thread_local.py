# SPDX-License-Identifier: Apache-2.0
"""Names of what threads have: in a threading.local, in variables of what they run."""

# Covers: preload/python/heap_inspector/naming/thread_locals.cc

import harness

PROGRAM = """
import logging
import threading
import types
import torch
import libtensorscope

class State(threading.local):
    def __init__(self):
        self.made = torch.ones(300 * 256)

plain = threading.local()
plain.mine = torch.ones(100 * 256)
plain.inside = {"k": [torch.ones(200 * 256)]}
state = State()
begun, done = threading.Event(), threading.Event()

def work():
    plain.theirs = torch.ones(400 * 256)
    plain.common = torch.ones(500 * 256)
    state.made.resize_(600 * 256)
    begun.set()
    done.wait()

plain.common = torch.ones(700 * 256)
worker = threading.Thread(target=work, name="loader 1")
worker.start()
begun.wait()

running = threading.Event()
def beat(session):
    running.set()
    done.wait()

logging.root.timer = threading.Timer(1000, print, args=[torch.ones(800 * 256)])
logging.root.timer.start()
threading.Thread(target=beat, args=(types.SimpleNamespace(keys=torch.ones(900 * 256)),)).start()
running.wait()
libtensorscope.dump()
done.set()
logging.root.timer.cancel()
worker.join()
"""


def test_attributes_of_a_thread_local_are_written_as_python_does(tmp_path):
    done = harness.run_source(PROGRAM, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    rows = harness.load(harness.dumps(tmp_path)[-1])["tensors"]
    names = {row["nbytes"] // 1024: row["names"] for row in rows}
    main = {100: "plain.mine", 200: "plain.inside['k'][0]", 300: "state.made", 700: "plain.common"}
    worker = {400: "plain.theirs", 500: "plain.common", 600: "state.made"}
    wanted = {kilobytes: [f"program.py: {name}"] for kilobytes, name in main.items()}
    # Variables of the program's own functions come before those of threading's, which come after all globals.
    wanted |= {800: ["logging: root.timer.args[0]"], 900: ["session.keys (local of beat)"]}
    wanted |= {kilobytes: [f"program.py, thread loader 1: {name}"] for kilobytes, name in worker.items()}
    assert {kilobytes: names[kilobytes] for kilobytes in wanted} == wanted
