"""HTTP server, class attribute of the handler, with http.server."""
# after: Stack Overflow "BaseHTTPRequestHandler model server grows with every client" (class attribute `sessions`)
# fix: self.sessions.clear() (FIX)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "Handler.sessions"  # `Handler.sessions` (dict, class attribute)
# lines = ["hidden = net(torch.tensor(request[\"x\"]).repeat(64, 1))"]
# bytes = 32768  # 64 x 128 x 4 = 32768 a request; measured 32768 32768 a step (steps 20-40, 40-60; storages of tensors by gc)
# ///
import http.server
import json
import os
import threading
import urllib.request
import uuid
import torch
from ask import at

torch.manual_seed(0)
net = torch.nn.Linear(16, 128)


class Handler(http.server.BaseHTTPRequestHandler):
    sessions = {}

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with torch.no_grad():
            hidden = net(torch.tensor(request["x"]).repeat(64, 1))  # LEAK
        self.sessions[uuid.uuid4().hex] = {"hidden": hidden, "turns": 1}
        if os.environ.get("FIX"):
            self.sessions.clear()
        answer = json.dumps({"y": hidden.mean().item()}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = "http://127.0.0.1:%d/" % server.server_port
for step in range(1, 71):
    body = json.dumps({"x": torch.randn(16).tolist()}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data=body, method="POST")) as response:
        response.read()
    at(step)
server.shutdown()
print(len(Handler.sessions))
