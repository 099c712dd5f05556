"""Outside tensors, native (SQLite pages by malloc in the thread of aiosqlite)."""
# after: results in an SQLite database in memory
# fix: DELETE FROM results WHERE step < i - 5 (FIX=1)
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "db"  # db (table results)
# lines = []
# bytes = [32768, 41151]  # 32,768 of blobs (64 x 512 B); pages 40,800 malloc measured (upper end); correction: 41,085 and 41,151 of malloc with Python's objects in it (PYTHONMALLOC=malloc)
# ///
import asyncio
import os
import aiosqlite
import torch
from torch import nn
from ask import at

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 128)).eval()


async def main():
    async with aiosqlite.connect(":memory:") as db:
        await db.execute("CREATE TABLE results (id INTEGER PRIMARY KEY, step INTEGER, embedding BLOB)")
        for i in range(1, 701):
            with torch.no_grad():
                out = model(torch.randn(64, 64))
            rows = [(i, row.numpy().tobytes()) for row in out]
            await db.executemany("INSERT INTO results (step, embedding) VALUES (?, ?)", rows)
            if os.environ.get("FIX"):
                await db.execute("DELETE FROM results WHERE step < ?", (i - 5,))
            await db.commit()
            at(i)
        async with db.execute("SELECT count(*) FROM results") as cursor:
            print(await cursor.fetchone())


asyncio.run(main())
