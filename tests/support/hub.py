"""A hub of models and data, served for real on this machine, and a repository of each kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from urllib.parse import unquote

import numpy as np
from safetensors.numpy import save

from tests.support.receiver import Receiver, respond

TOKEN = "hf_of-the-deployment"
COMMIT = "4f2a" * 10


def holding(files: Mapping[str, bytes], store: Receiver | None = None) -> Callable[[BaseHTTPRequestHandler], object]:
    """A hub with one private repository, `o/it`; with a store, that has the content of its files."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        path = unquote(handler.path)
        if handler.headers["Authorization"] != f"Bearer {TOKEN}":
            return respond(handler, 401)
        if path.startswith("/api/") and "/o/it/revision/main" in path:
            siblings = [{"rfilename": name, "size": len(content)} for name, content in files.items()]
            return respond(handler, 200, json.dumps({"sha": COMMIT, "siblings": siblings}).encode())
        name = path.partition(f"/o/it/resolve/{COMMIT}/")[2]
        if name not in files:
            return respond(handler, 404)
        if store is not None:
            return respond(handler, 302, Location=f"{store.url}/{name}")
        return respond(handler, 200, files[name])

    return answer


def lines(first: int, count: int) -> bytes:
    rows = ({"question": f"{n} + {n} = ?", "answer": 2 * n} for n in range(first, first + count))
    return "\n".join(json.dumps(row) for row in rows).encode()


def shard(name: str) -> bytes:
    return save({name: np.zeros((3, 4), np.float32)})


MODEL = {
    ".gitattributes": b"*",
    "README.md": b"# It",
    "config.json": b'{"model_type": "qwen2"}',
    "model-00001-of-00002.safetensors": shard("a"),
    "model-00002-of-00002.safetensors": shard("b"),
    "model.safetensors.index.json": json.dumps(
        {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    ).encode(),
    "pytorch_model.bin": b"a pickle",
    "onnx/model.onnx": b"another form",
}
