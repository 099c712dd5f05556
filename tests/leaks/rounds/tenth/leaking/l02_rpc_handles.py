"""A feature service over RPyC: the client keeps every remote reference, so the server keeps every tensor."""
# kind: Remote references (netref) pin the objects in the server side of the connection; tensors, no optimizer, with rpyc.
# after: "rpyc server memory grows: objects stay in conn._local_objects" (RPyC issues)
# fix: keep the norm, not the reference: no `self.handles.append(remote)` (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "client.handles"  # `client.handles` (list of netrefs); behind it the server's `conn._local_objects` keeps the tensors: cutting `client.handles` frees both
# lines = ["return self.net(torch.randn(rows, 96, generator=g))"]
# bytes = 32768  # 128 x 64 float32 = 32768 a step; measured 32.0 KiB of tensors; Python proxies of rpyc take about 100 KiB a step more (malloc in use grew 134 KiB); correction: storages; clearing it frees 133 KiB of malloc and 285 KiB of Python's heap a step beside them
# ///
import os
import threading

import rpyc
import torch
from rpyc.core.stream import SocketStream
from rpyc.utils.factory import connect_stream
from torch import nn

from ask import at

torch.set_num_threads(1)


class Features(rpyc.Service):
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(96, 256), nn.GELU(), nn.Linear(256, 64)).eval()

    def exposed_embed(self, seed, rows):
        g = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            return self.net(torch.randn(rows, 96, generator=g))


class Client:
    def __init__(self, conn):
        self.conn = conn
        self.handles = []
        self.norms = []

    def fetch(self, seed):
        remote = self.conn.root.embed(seed, 128)
        self.norms = (self.norms + [float(remote.norm().item())])[-10:]
        if not os.environ.get("FIX"):
            self.handles.append(remote)


def main():
    torch.manual_seed(0)
    import socket
    a, b = socket.socketpair()
    config = {"allow_public_attrs": True}
    server = threading.Thread(target=lambda: connect_stream(SocketStream(b), Features(), config).serve_all(), daemon=True)
    server.start()
    conn = connect_stream(SocketStream(a), rpyc.VoidService, config)
    client = Client(conn)
    for i in range(1, 81):
        client.fetch(i)
        at(i)
    print("norm", client.norms[-1])
    conn.close()
    server.join(5)


if __name__ == "__main__":
    main()
