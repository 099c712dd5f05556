"""At most 16 spans wait in the queue (older ones are dropped), full or exported long before step 20; spans have 500 floats each."""
# report: "OpenTelemetry spans pile up": BatchSpanProcessor with a bounded queue and a slow exporter
# library: opentelemetry-sdk
# /// healthy
# dumps = "steps"
# ///
import time

import torch
import torch.nn as nn
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult


class Slow(SpanExporter):
    def export(self, spans):
        time.sleep(0.05)
        return SpanExportResult.SUCCESS

    def shutdown(self):
        pass


provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(Slow(), max_queue_size=16, max_export_batch_size=8, schedule_delay_millis=100))
tracer = provider.get_tracer("train")
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(50, 10), nn.ReLU(), nn.Linear(10, 2))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(70):
    with tracer.start_as_current_span("step") as span:
        loss = nn.functional.cross_entropy(net(torch.randn(64, 50)), torch.randint(0, 2, (64,)))
        opt.zero_grad()
        loss.backward()
        span.set_attribute("grad", net[0].weight.grad.flatten().tolist())
        opt.step()
    time.sleep(0.02)
    if step % 20 == 0:
        print(step, loss.item(), flush=True)
provider.shutdown()
