"""Hooks of a web framework; closure, with bottle."""
# after: "bottle app slower with every request": @app.hook('after_request') inside the handler registers one more hook for each request
# fix: register the hook once, outside of the handler (FIX: heat is put into the response directly)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "app._hooks['after_request']"  # app._hooks['after_request'] (list of functions, closure cell heat of remember)
# lines = ["heat = logits.softmax(0)"]
# bytes = 110592  # 110592 (heat 3x96x96 float32 = 110592 B)
# ///
import io
import json
import os

import torch
import torch.nn as nn
from bottle import Bottle, request, response
from ask import at

torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 1)).eval()
app = Bottle()


def headers_of(heat):
    response.set_header("X-Heat", f"{float(heat.max()):.2f}")


@app.post("/segment")
def segment():
    image = torch.frombuffer(bytearray(request.body.read()), dtype=torch.uint8).view(3, 96, 96)
    with torch.no_grad():
        logits = net(image.float()[None] / 255)[0]
    heat = logits.softmax(0)
    if os.environ.get("FIX"):
        headers_of(heat)
    else:
        @app.hook("after_request")
        def remember():
            headers_of(heat)
    return {"classes": logits.argmax(0).unique().tolist()}


def post(body):
    status = []
    env = {"REQUEST_METHOD": "POST", "PATH_INFO": "/segment", "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body),
           "wsgi.errors": io.StringIO(), "SERVER_NAME": "x", "SERVER_PORT": "80", "wsgi.url_scheme": "http"}
    out = app(env, lambda code, headers, exc=None: status.append(code))
    return status[0], json.loads(b"".join(out))


for i in range(1, 71):
    status, answer = post(torch.randint(256, (3, 96, 96), dtype=torch.uint8).numpy().tobytes())
    at(i)
print(status, answer)
