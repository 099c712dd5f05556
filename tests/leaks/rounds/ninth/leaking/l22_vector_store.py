"""Vector store in memory: lists of Python floats and documents, with langchain-core."""
# after: "InMemoryVectorStore in our RAG service: chat turns are added with each request, memory grows" (LangChain issues)
# fix: store.delete([...]) of the documents of older turns
# /// leak
# dumps = "asks"
# kinds = ["process-memory", "container", "module-cache"]
# holder = "store.store"  # store.store (dict of ids to {'id', 'vector', 'text', 'metadata'})
# lines = []
# bytes = 35379  # 2 documents a step, each 384 floats (24 B + 8 B of the list's slot) = 12 KiB, and text of 2 KiB: about 29 KiB of objects a step by sys.getsizeof; measured KiB a step (20 to 40, 40 to 60): storages of tensors 0.0, 0.0; all malloc'd 36.9, 37.1 (with FIX: 0.0, 0.0; 1.2, 0.8); correction: 34.55 KiB go when it is cleared (malloc 9.5, pymalloc 25.06)
# ///
import os
import torch
from torch import nn
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from ask import at

torch.manual_seed(0)


class TorchEmbeddings(Embeddings):
    def __init__(self):
        self.bag = nn.EmbeddingBag(256, 384).eval()

    def embed_query(self, text):
        with torch.no_grad():
            return self.bag(torch.tensor([list(text.encode())]))[0].tolist()

    def embed_documents(self, texts):
        return [self.embed_query(t) for t in texts]


store = InMemoryVectorStore(TorchEmbeddings())
old = []
for turn in range(1, 101):
    found = store.similarity_search(f"question {turn}", k=2)
    answer = f"turn {turn}: " + " ".join(d.page_content[:20] for d in found)
    texts = [f"user says {turn} " * 150, (answer + " ") * 30]
    docs = [Document(page_content=t[:2000], metadata={"turn": turn}) for t in texts]
    ids = store.add_documents(docs)
    if os.environ.get("FIX"):
        old.append(ids)
        if len(old) > 10:
            store.delete(old.pop(0))
    if turn % 25 == 0:
        print(turn, len(store.store), flush=True)
    at(turn)
