"""Session store of an HTTP server, with CherryPy."""
# after: "CherryPy RAM sessions: clients without cookies get a new session with each request, memory of the server grows"
# fix: no session for clients without a cookie: cherrypy.session not written (tools.sessions.on False)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "RamSession.cache"  # cherrypy.lib.sessions.RamSession.cache (class attribute: dict of session ids to (data, expiry)), until the timeout of 60 minutes
# lines = ["hidden = out[0].clone()"]
# bytes = 73728  # 3 requests a step, each with a last_hidden of 24*256*4 = 24 KiB: 72 KiB of tensors a step; measured KiB a step (20 to 40, 40 to 60): storages of tensors 72.0, 72.0; all malloc'd 78.2, 77.4 (with FIX: 0.0, 0.0; 2.5, 1.2)
# ///
import os
import urllib.request
import cherrypy
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
rnn = nn.GRU(16, 256, batch_first=True).eval()


class Chat:
    @cherrypy.expose
    def say(self, text="hi"):
        x = torch.tensor([[ord(c) % 16 for c in text[:24].ljust(24)]])
        with torch.no_grad():
            out, _ = rnn(nn.functional.one_hot(x, 16).float())
        hidden = out[0].clone()
        if not os.environ.get("FIX"):
            cherrypy.session["last_hidden"] = hidden
        return f"{hidden.mean().item():.4f}"


cherrypy.config.update({"server.socket_host": "127.0.0.1", "server.socket_port": 18479, "server.thread_pool": 2,
                        "log.screen": False, "engine.autoreload.on": False,
                        "tools.sessions.on": not os.environ.get("FIX")})
cherrypy.tree.mount(Chat(), "/")
cherrypy.engine.start()
cherrypy.engine.wait(cherrypy.engine.states.STARTED)
for step in range(1, 81):
    for client in range(3):
        url = f"http://127.0.0.1:18479/say?text=message{step}from{client}"
        answer = urllib.request.urlopen(url, timeout=20).read()
    if step % 20 == 0:
        print(step, answer, flush=True)
    at(step)
cherrypy.engine.exit()
