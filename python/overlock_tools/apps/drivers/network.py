# SPDX-License-Identifier: MIT
"""network.py THREADS: ONNX Runtime computes a network of small matrices with that many threads.

ALLOW_SPINNING=0 in the environment sets session.intra_op.allow_spinning.
"""

import os
import sys

import asked
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

LAYERS, BATCH, WIDTH = 24, 64, 128


def network() -> bytes:
    draw = np.random.default_rng(0)
    weights, nodes, before = [], [], "in"
    for layer in range(LAYERS):
        values = draw.random((WIDTH, WIDTH), "f4") / (WIDTH / 2)
        weights.append(onnx.numpy_helper.from_array(values, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [before, f"w{layer}"], [f"m{layer}"]))
        before = f"s{layer}"
        nodes.append(helper.make_node("Softmax", [f"m{layer}"], [before]))
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [BATCH, WIDTH])
        for name in ("in", before)
    ]
    graph = helper.make_graph(nodes, "network", ends[:1], ends[1:], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(made.SerializeToString())


def session(model: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    spins = os.environ.get("ALLOW_SPINNING", "1")
    options.add_session_config_entry("session.intra_op.allow_spinning", spins)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main() -> None:
    model = network()
    given = {"in": np.random.default_rng(1).random((BATCH, WIDTH), "f4")}
    (right,) = session(model, 1).run(None, given)
    team = session(model, int(sys.argv[1]))
    last = np.zeros_like(right)

    def unit() -> None:
        nonlocal last
        (last,) = team.run(None, given)

    def wrong() -> str:
        return "" if np.allclose(last, right) else "it computes something else than with one thread"

    asked.serve(unit, wrong)


main()
