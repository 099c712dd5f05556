"""Spans of a tracer, outside tensors (tuples of floats), with opentelemetry-sdk."""
# after: OpenTelemetry "InMemorySpanExporter in production": every span and its attributes are kept
# fix: exporter.clear() regularly
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "exporter._finished_spans"  # exporter._finished_spans (list of ReadableSpan; attributes['train.grad'])
# lines = []
# bytes = 82500  # about 66,000 (2000 floats of 24 B, a tuple of 16,040 B, 26 small objects; malloc in use 17,700 and 2026 blocks of pymalloc); correction: 82,500, as pymalloc gives 32 B for a float; _finished_spans is a deque here
# ///
import os

import torch
import torch.nn as nn
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
tracer = provider.get_tracer("train")

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(100, 20), nn.ReLU(), nn.Linear(20, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(70):
    with tracer.start_as_current_span("step") as span:
        x = torch.randn(64, 100)
        loss = nn.functional.cross_entropy(net(x), torch.randint(0, 2, (64,)))
        opt.zero_grad()
        loss.backward()
        span.set_attribute("train.loss", loss.item())
        span.set_attribute("train.grad", net[0].weight.grad.flatten().tolist())
    if os.environ.get("FIX"):
        exporter.clear()
    opt.step()
    if step % 20 == 0:
        print(step, loss.item(), len(exporter.get_finished_spans()), flush=True)
