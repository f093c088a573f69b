"""Builds ONNX models and what onnxruntime computes with them: `python onnx_zoo.py FOLDER`, in a child."""

# mypy: ignore-errors
# Neither package has types.

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn

#: Samples of a step: bound to the open first axis of every model.
BATCH = 3
FLOAT, WHOLE = TensorProto.FLOAT, TensorProto.INT64


class Builder:
    """A graph that is written down node by node."""

    def __init__(self, shape, kind=FLOAT, opset=20):
        self.rng = np.random.default_rng(5)
        self.nodes, self.weights, self.opset = [], [], opset
        self.inputs = [helper.make_tensor_value_info("x", kind, ["batch", *shape])]

    def also(self, name, shape):
        """One input more."""
        self.inputs.append(helper.make_tensor_value_info(name, FLOAT, ["batch", *shape]))
        return name

    def w(self, *shape, by=0.4, plus=0.0):
        """Stored weights."""
        return self.stored((by * self.rng.standard_normal(shape) + plus).astype("float32"))

    def variance(self, size):
        """Stored numbers above zero."""
        return self.stored((0.5 + self.rng.random(size)).astype("float32"))

    def whole(self, *values):
        """Stored whole numbers."""
        return self.stored(np.array(values, "int64"))

    def stored(self, array):
        """A stored array."""
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def __call__(self, op, *inputs, outputs=1, **attributes):
        """A node; what it gives."""
        names = [f"n{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"node{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def model(self, output):
        """The model whose output is this value."""
        out = onnx.ValueInfoProto(name=output)
        graph = helper.make_graph(self.nodes, "g", self.inputs, [out], self.weights)
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        del made.graph.output[:]
        inferred = {v.name: v for v in onnx.shape_inference.infer_shapes(made).graph.value_info}
        made.graph.output.append(inferred.get(output) or helper.make_tensor_value_info(output, FLOAT, None))
        onnx.checker.check_model(made)
        return made


def mlp():
    b = Builder([12])
    x = b("Relu", b("Gemm", "x", b.w(16, 12), b.w(16), transB=1))
    return b.model(b("Softmax", b("Gemm", x, b.w(16, 4), b.w(4)), axis=-1))


def gemm_scaled():
    b = Builder([6])
    return b.model(b("Gemm", "x", b.w(6, 5), b.w(1, 5), alpha=0.5, beta=2.0))


def matmul():
    b = Builder([7, 6])
    return b.model(b("Tanh", b("Add", b("MatMul", "x", b.w(6, 5)), b.w(5))))


def cnn():
    b = Builder([3, 14, 13])
    x = b("Relu", b("Conv", "x", b.w(6, 3, 3, 3), b.w(6), pads=[1, 1, 1, 1]))
    x = b("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = b("Conv", x, b.w(4, 6, 3, 2), strides=[2, 1])
    return b.model(b("Gemm", b("Flatten", x), b.w(60, 5), b.w(5)))


def cnn_same():
    b = Builder([3, 15, 10])
    x = b("Conv", "x", b.w(4, 3, 3, 3), b.w(4), auto_pad="SAME_UPPER", strides=[2, 2])
    x = b("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], count_include_pad=1)
    x = b("Conv", x, b.w(4, 4, 2, 2), auto_pad="SAME_LOWER")
    return b.model(b("GlobalMaxPool", x))


def cnn_uneven():
    b = Builder([2, 9, 8])
    x = b("Conv", "x", b.w(4, 2, 3, 3), pads=[0, 1, 2, 0])
    x = b("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    return b.model(b("AveragePool", x, kernel_shape=[2, 2], strides=[1, 1], pads=[1, 1, 1, 1]))


def cnn_dilated():
    b = Builder([4, 12, 12])
    x = b("Conv", "x", b.w(8, 2, 3, 3), b.w(8), group=2, dilations=[2, 2], pads=[2, 2, 2, 2])
    return b.model(b("GlobalAveragePool", x))


def mobile():
    b = Builder([4, 8, 8])
    x = b("Conv", "x", b.w(4, 1, 3, 3), group=4, pads=[1, 1, 1, 1])
    x = b("BatchNormalization", x, b.w(4), b.w(4), b.w(4), b.variance(4), epsilon=1e-3)
    x = b("Clip", x, b.stored(np.float32(0)), b.stored(np.float32(6)))
    x = b("Conv", x, b.w(6, 4, 1, 1))
    return b.model(b("Squeeze", b("GlobalAveragePool", x), b.whole(2, 3)))


def residual():
    b = Builder([5, 6, 6])
    y = b("Conv", "x", b.w(5, 5, 3, 3), pads=[1, 1, 1, 1])
    y = b("Relu", b("BatchNormalization", y, b.w(5), b.w(5), b.w(5), b.variance(5)))
    x = b("Add", "x", b("Conv", y, b.w(5, 5, 3, 3), pads=[1, 1, 1, 1]))
    return b.model(b("ReduceMean", x, b.whole(2, 3), keepdims=0))


def inception():
    b = Builder([4, 9, 9])
    parts = [b("Conv", "x", b.w(3, 4, 1, 1)), b("Conv", "x", b.w(2, 4, 3, 3), pads=[1, 1, 1, 1])]
    parts.append(b("MaxPool", "x", kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]))
    return b.model(b("Concat", *parts, axis=1))


def conv1d():
    b = Builder([3, 20])
    x = b("Conv", "x", b.w(5, 3, 4), b.w(5), strides=[2])
    return b.model(b("MaxPool", b("Softplus", x), kernel_shape=[2], strides=[2]))


def conv3d():
    b = Builder([2, 5, 6, 7])
    return b.model(b("GlobalAveragePool", b("Relu", b("Conv", "x", b.w(3, 2, 3, 3, 3), b.w(3)))))


def transposed():
    b = Builder([3, 4, 5])
    x = b("ConvTranspose", "x", b.w(3, 4, 3, 3), b.w(4), strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
    return b.model(b("ConvTranspose", x, b.w(4, 2, 2, 2), strides=[2, 2]))


def recurrent(op, gates, opset=20, ways=1, **attributes):
    b = Builder([9, 4], opset=opset)
    hidden = 5
    arrays = [b.w(ways, gates * hidden, 4), b.w(ways, gates * hidden, hidden), b.w(ways, 2 * gates * hidden)]
    x = b("Transpose", "x", perm=[1, 0, 2])
    y = b(op, x, *arrays, outputs=1, hidden_size=hidden, **attributes)
    y = b("Reshape", b("Transpose", y, perm=[2, 0, 1, 3]), b.whole(0, 9, ways * hidden))
    return b.model(y)


def lstm_last():
    b = Builder([9, 4])
    x = b("Transpose", "x", perm=[1, 0, 2])
    states = b("LSTM", x, b.w(1, 20, 4), b.w(1, 20, 5), outputs=3, hidden_size=5)
    return b.model(b("Add", b("Squeeze", states[1], b.whole(0)), b("Squeeze", states[2], b.whole(0))))


def attention():
    b = Builder([7, 8])
    x = b("LayerNormalization", "x", b.w(8, plus=1.0), b.w(8), epsilon=1e-5)
    qkv = b("Split", b("MatMul", x, b.w(8, 24)), outputs=3, axis=2, num_outputs=3)
    q, k, v = (b("Transpose", b("Reshape", one, b.whole(0, 7, 2, 4)), perm=[0, 2, 1, 3]) for one in qkv)
    scores = b("Div", b("MatMul", q, b("Transpose", k, perm=[0, 1, 3, 2])), b.stored(np.float32(2.0)))
    mask = b.stored(np.triu(np.full((7, 7), -1e4, "float32"), 1))
    y = b("MatMul", b("Softmax", b("Add", scores, mask), axis=-1), v)
    y = b("Reshape", b("Transpose", y, perm=[0, 2, 1, 3]), b.whole(0, 0, 8))
    return b.model(b("Add", "x", b("MatMul", y, b.w(8, 8))))


def embedding():
    b = Builder([6], WHOLE)
    x = b("Gather", b.w(20, 8), "x")
    x = b("ReduceMean", x, b.whole(1), keepdims=0)
    return b.model(b("Sigmoid", b("Gemm", x, b.w(8, 3), b.w(3))))


def open_shapes():
    """What exporters make of `x.view(x.size(0), -1)`."""
    b = Builder([4, 6, 5])
    first = b("Gather", b("Shape", "x"), b.stored(np.array(0, "int64")), axis=0)
    shape = b("Concat", b("Unsqueeze", first, b.whole(0)), b.whole(-1), axis=0)
    x = b("Reshape", b("Slice", "x", b.whole(1, 4), b.whole(4, 0), b.whole(1, 2), b.whole(1, -2)), shape)
    return b.model(b("Unsqueeze", x, b.whole(1)))


def activations():
    b = Builder([4, 6])
    x = "x"
    for op, more in (
        ("Elu", {"alpha": 0.7}), ("LeakyRelu", {"alpha": 0.2}), ("HardSigmoid", {"alpha": 0.3}), ("HardSwish", {}),
        ("Softplus", {}), ("Selu", {}), ("Erf", {}), ("Softsign", {}), ("Celu", {"alpha": 0.8}), ("Mish", {}),
        ("Gelu", {"approximate": "tanh"}), ("LogSoftmax", {"axis": 1}),
    ):  # fmt: skip
        x = b(op, b("MatMul", x, b.w(6, 6)), **more)
    return b.model(b("PRelu", x, b.w(6)))


def resized():
    b = Builder([2, 4, 5])
    x = b("Resize", "x", "", "", b.whole(BATCH, 2, 8, 10), mode="nearest", coordinate_transformation_mode="asymmetric",
          nearest_mode="floor")  # fmt: skip
    x = b("Resize", x, "", b.stored(np.array([1, 1, 1.5, 2], "float32")), mode="linear")
    return b.model(x)


def padded():
    b = Builder([3, 6, 7])
    x = b("Pad", "x", b.whole(0, 0, 1, 2, 0, 0, 2, 1), mode="reflect")
    x = b("InstanceNormalization", x, b.w(3), b.w(3))
    x = b("Pad", x, b.whole(0, 0, 1, 0, 0, 0, 0, 1), b.stored(np.float32(0.5)))
    return b.model(b("LRN", b("Pad", x, b.whole(0, 0, 1, 1, 0, 0, 1, 1), mode="edge"), size=3, alpha=0.01, bias=1.0))


def arithmetic():
    """A normalisation as it is written out by hand."""
    b = Builder([5, 8])
    other = b.also("y", [5, 8])
    centred = b("Sub", "x", b("ReduceMean", "x", b.whole(-1)))
    variance = b("ReduceMean", b("Pow", centred, b.stored(np.float32(2))), b.whole(-1))
    x = b("Div", centred, b("Sqrt", b("Add", variance, b.stored(np.float32(1e-5)))))
    x = b("Max", b("Mul", x, b.w(8)), b("Neg", other))
    x = b("Where", b("Greater", x, b.stored(np.float32(0.1))), x, b("Exp", other))
    return b.model(
        b("Concat", b("ReduceMax", x, b.whole(1)), b("ReduceL2", x, b.whole(1)), b("ReduceSum", x, b.whole(1)),
          b("Gather", x, b.whole(-1), axis=1), axis=1)
    )  # fmt: skip


class ImageNet(nn.Module):
    """A small residual network, as PyTorch exports it."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(), nn.Conv2d(8, 8, 1))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4))

    def forward(self, x):
        x = self.stem(x)
        return self.head(x + self.block(x))


class Sequence(nn.Module):
    """Words through two bidirectional recurrent layers."""

    def __init__(self):
        super().__init__()
        self.table, self.lstm = nn.Embedding(20, 6), nn.LSTM(6, 5, 2, batch_first=True, bidirectional=True)
        self.gru, self.out = nn.GRU(10, 4, batch_first=True), nn.Linear(4, 3)

    def forward(self, x):
        y, _ = self.gru(self.lstm(self.table(x))[0])
        return self.out(y[:, -1])


class Encoder(nn.Module):
    """A transformer's block."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm, self.feed = nn.LayerNorm(8), nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))

    def forward(self, x):
        y = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return y + self.feed(y)


def exported(module, *inputs):
    """A module of PyTorch, by its own exporter, the batch left open."""
    import io

    torch.manual_seed(3)
    made = module().eval()
    for one in made.modules():
        if isinstance(one, nn.BatchNorm2d):
            one.running_mean.uniform_(-0.3, 0.3)
            one.running_var.uniform_(0.5, 1.5)
    held = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "batch"}}}
        torch.onnx.export(made, inputs, held, dynamo=False, **names)
    return onnx.load_from_string(held.getvalue())


MODELS = {
    "mlp": mlp,
    "gemm_scaled": gemm_scaled,
    "matmul": matmul,
    "cnn": cnn,
    "cnn_same": cnn_same,
    "cnn_uneven": cnn_uneven,
    "cnn_dilated": cnn_dilated,
    "mobile": mobile,
    "residual": residual,
    "inception": inception,
    "conv1d": conv1d,
    "conv3d": conv3d,
    "transposed": transposed,
    "lstm": lambda: recurrent("LSTM", 4),
    "lstm_both": lambda: recurrent("LSTM", 4, ways=2, direction="bidirectional"),
    "lstm_last": lstm_last,
    "gru": lambda: recurrent("GRU", 3, linear_before_reset=1),
    "gru_before": lambda: recurrent("GRU", 3),
    "rnn": lambda: recurrent("RNN", 1, direction="reverse", activations=["Relu"]),
    "attention": attention,
    "embedding": embedding,
    "open_shapes": open_shapes,
    "activations": activations,
    "resized": resized,
    "padded": padded,
    "arithmetic": arithmetic,
    "torch_residual": lambda: exported(ImageNet, torch.randn(2, 3, 12, 12)),
    "torch_sequence": lambda: exported(Sequence, torch.randint(20, (2, 7))),
    "torch_encoder": lambda: exported(Encoder, torch.randn(2, 5, 8)),
}


def keep(name, folder):
    """A model's file, and what goes in and comes out."""
    model = MODELS[name]()
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    rng = np.random.default_rng(7)
    fed = {}
    for one in onnxruntime.InferenceSession(model.SerializeToString()).get_inputs():
        shape = (BATCH, *one.shape[1:])
        fed[one.name] = rng.integers(0, 20, shape) if "int" in one.type else rng.standard_normal(shape).astype("float32")
    (out,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, fed)
    np.savez(folder / f"{name}.npz", out=out, **{f"in_{i}": array for i, array in enumerate(fed.values())})


def main(folder):
    """All of them."""
    for name in MODELS:
        keep(name, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
