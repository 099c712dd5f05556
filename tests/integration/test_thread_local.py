"""Names of tensors in a threading.local."""
import harness

PROGRAM = """
import threading
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
    begun.set()
    done.wait()

worker = threading.Thread(target=work)
worker.start()
begun.wait()
libtensorscope.dump()
done.set()
worker.join()
"""


def test_attributes_of_a_thread_local_are_written_as_python_does(tmp_path):
    done = harness.run_source(PROGRAM, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    rows = harness.load(harness.dumps(tmp_path)[-1])["tensors"]
    names = {row["nbytes"] // 1024: row["names"] for row in rows}
    wanted = {100: "plain.mine", 200: "plain.inside['k'][0]", 300: "state.made", 400: "plain.theirs"}
    assert {kilobytes: names[kilobytes] for kilobytes in wanted} == {
        kilobytes: [f"program.py: {name}"] for kilobytes, name in wanted.items()}
