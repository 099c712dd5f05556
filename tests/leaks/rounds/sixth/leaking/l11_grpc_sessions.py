"""Server, dict of sessions, worker threads, with grpcio."""
# after: "gRPC inference server memory leak": a session for each client, Close is never called by clients that vanish
# fix: servicer.sessions.pop(sid) at the end of the stream
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "servicer.sessions"
# lines = ["out, state = self.lstm(torch.randn(1, 16, 32), self.sessions"]
# bytes = 32768  # h and c: 2 * 2*16*128*4
# ///
import os
import struct
from concurrent import futures
import grpc
import torch
from torch import nn
from ask import at

torch.manual_seed(0)


class Decoder:
    def __init__(self):
        self.lstm = nn.LSTM(32, 128, num_layers=2)
        self.sessions = {}

    def step(self, request, context):
        sid, last = struct.unpack("<IB", request)
        with torch.no_grad():
            out, state = self.lstm(torch.randn(1, 16, 32), self.sessions.get(sid))
        self.sessions[sid] = state
        if last and os.environ.get("FIX"):
            self.sessions.pop(sid)
        return struct.pack("<f", out.mean().item())


servicer = Decoder()
server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Decoder", {"Step": grpc.unary_unary_rpc_method_handler(servicer.step)}),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
channel = grpc.insecure_channel(f"127.0.0.1:{port}")
call = channel.unary_unary("/Decoder/Step")
for i in range(1, 66):
    for token in range(4):
        call(struct.pack("<IB", i, token == 3))
    at(i)
channel.close()
server.stop(None).wait()
