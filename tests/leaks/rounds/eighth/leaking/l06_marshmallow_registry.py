"""A library's registry of classes; closure of a validator keeps the tensor, with marshmallow."""
# after: issue "creating Schema classes per request leaks: class_registry keeps them"
# fix: class Meta: register = False (FIX)
# /// leak
# dumps = "asks"
# kinds = ["container", "module-cache"]
# holder = "class_registry"  # `marshmallow.class_registry._registry` (dict name -> classes -> _declared_fields -> validator)
# lines = ["reference = net(torch.randn(64, 64))"]
# bytes = 16384  # 64 x 64 x 4 = 16384 a request; plus some 6 KiB of plain objects of each class, not counted; measured tensors 16384; correction: the plain objects are 14 to 24 KB by malloc
# ///
import os
import torch
from marshmallow import Schema, ValidationError, fields
from ask import at

torch.manual_seed(0)
net = torch.nn.Linear(64, 64)


def schema_for(request_id, reference):
    def close_to_reference(value):
        if abs(value - reference.mean().item()) > 100:
            raise ValidationError("too far")

    body = {"score": fields.Float(validate=close_to_reference), "id": fields.Integer()}
    if os.environ.get("FIX"):
        body["Meta"] = type("Meta", (), {"register": False})
    return type("Request%dSchema" % request_id, (Schema,), body)


def serve(step):
    with torch.inference_mode():
        reference = net(torch.randn(64, 64))  # LEAK
    schema = schema_for(step, reference)()
    return schema.load({"score": 0.5, "id": step})


for step in range(1, 71):
    serve(step)
    at(step)
print("served")
