"""Queue of an offline client; bytes, no tensors, with paho-mqtt."""
# after: "paho-mqtt client memory grows while the broker is down": publish() with qos=1 queues without a limit
# fix: client.max_queued_messages_set(20)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "client._out_messages"  # client._out_messages (OrderedDict mid -> MQTTMessage, .payload is bytes)
# lines = []
# bytes = 18196  # 16384 (malloc in use 17200) (payload: 64x128 float16 of the embedding); correction: 18,196 go for each entry when it is cleared; 16,384 is the payload
# ///
import os

import paho.mqtt.client as mqtt
import torch
import torch.nn as nn

torch.manual_seed(0)
client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id="edge-7")
if os.environ.get("FIX"):
    client.max_queued_messages_set(20)
# client.connect_async("broker") + loop_start(): the broker can not be reached, messages wait for it

encoder = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128))
decoder = nn.Linear(128, 64)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
dropped = 0
for step in range(80):
    x = torch.randn(64, 64)
    z = encoder(x)
    loss = nn.functional.mse_loss(decoder(z), x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        z = encoder(x)
    info = client.publish("site/7/embeddings", z.half().numpy().tobytes(), qos=1)
    dropped += info.rc == mqtt.MQTT_ERR_QUEUE_SIZE
print("queued", len(client._out_messages), "dropped", dropped)
