"""Plain Python objects (cells) in a workbook, with openpyxl."""
# after: "openpyxl memory use while appending rows" (openpyxl: about 50 times the file's size; metrics written to one sheet, saved at the end)
# fix: Workbook(write_only=True) or csv: here rows go to a csv file (FIX=1)
# /// leak
# dumps = "steps"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "sheet._cells"  # `sheet._cells` of `book`
# lines = []
# bytes = [100352, 120832]  # about 98 to 118 KiB (allocated bytes: 416 cells, floats, dict entries), outside of tensors
# ///
import csv
import os
import tempfile

import torch
import torch.nn as nn
from openpyxl import Workbook

torch.manual_seed(0)
net = nn.Linear(24, 10)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
book = Workbook()
sheet = book.active
with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "log.csv"), "w") as f:
    rows = csv.writer(f)
    for step in range(1, 71):
        x, y = torch.randn(32, 24), torch.randint(0, 10, (32,))
        logits = net(x)
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        for k, row in enumerate(logits.detach().softmax(1).tolist()):
            line = [step, k, int(y[k]), *row]
            if os.environ.get("FIX"):
                rows.writerow(line)
            else:
                sheet.append(line)
    book.save(os.path.join(folder, "log.xlsx"))
print(sheet.max_row)
