"""Objects are added to a session without a commit."""
# after: sqlalchemy/sqlalchemy: session.add in a loop
# fix: session.commit() every n steps (the data goes to the file)
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = ["session._new", "session.new"]
# lines = ["session.add(Embedding("]
# bytes = [65536, 67600]  # 128 x 128 floats as bytes, an object and its state, about 2 KB
# ///
import os, tempfile
import torch
from sqlalchemy import create_engine, Integer, LargeBinary
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from ask import at

torch.manual_seed(0)
torch.set_num_threads(1)


class Base(DeclarativeBase):
    pass


class Embedding(Base):
    __tablename__ = "embedding"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    data: Mapped[bytes] = mapped_column(LargeBinary)


folder = tempfile.TemporaryDirectory(prefix="embeddings-")
engine = create_engine("sqlite:///" + os.path.join(folder.name, "e.db"))
Base.metadata.create_all(engine)
session = Session(engine, autoflush=False)
encoder = torch.nn.Linear(32, 128).requires_grad_(False)


def store(step, emb):
    session.add(Embedding(id=step, data=emb.numpy().tobytes()))


for step in range(1, 67):
    store(step, encoder(torch.randn(128, 32)))
    at(step)
print(len(session.new), "pending")
session.rollback()
engine.dispose()
folder.cleanup()
