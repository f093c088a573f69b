"""Builds Keras models, saves them and what they compute: `python keras_zoo.py FOLDER`, in a child, which alone imports Keras."""

# mypy: ignore-errors
# Keras has no types.

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy as np

L = keras.layers


def seq(*layers, shape, **kwargs):
    return keras.Sequential([keras.Input(shape), *layers], **kwargs)


def words(*layers, length=9, rows=20):
    return keras.Sequential([keras.Input((length,), dtype="int32"), *layers])


def residual():
    i = keras.Input((8, 8, 3))
    x = L.Conv2D(6, 3, padding="same")(i)
    y = L.BatchNormalization()(x)
    y = L.ReLU()(y)
    y = L.Conv2D(6, 3, padding="same")(y)
    x = L.Add()([x, y])
    x = L.GlobalAveragePooling2D()(x)
    return keras.Model(i, L.Dense(5, activation="softmax")(x))


def inception():
    i = keras.Input((9, 9, 4))
    parts = [L.Conv2D(3, 1)(i), L.Conv2D(4, 3, padding="same")(i), L.MaxPooling2D(3, 1, padding="same")(i)]
    return keras.Model(i, L.Flatten()(L.Concatenate()(parts)))


def transformer():
    i = keras.Input((7,), dtype="int32")
    x = L.Embedding(20, 8)(i)
    y = L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True)
    x = L.LayerNormalization()(x + y)
    y = L.Dense(16, activation="gelu")(x)
    x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, L.Dense(8)(y)]))
    return keras.Model(i, L.Dense(20)(x))


def shared():
    one, two = keras.Input((6,)), keras.Input((6,))
    tower = keras.Sequential([keras.Input((6,)), L.Dense(4, activation="tanh"), L.Dense(3)], name="tower")
    x, y = tower(one), tower(two)
    return keras.Model([one, two], L.Dense(1)(L.Concatenate()([x, y, L.Subtract()([x, y]), L.Multiply()([x, y])])))


def nested():
    inner_in = keras.Input((5, 4))
    inner = keras.Model(inner_in, L.LSTM(6, return_sequences=True)(inner_in), name="inner")
    i = keras.Input((5, 4))
    return keras.Model(i, L.Dense(2)(L.GlobalMaxPooling1D()(inner(i))))


def cross():
    q, v = keras.Input((5, 6)), keras.Input((4, 8))
    return keras.Model([q, v], L.MultiHeadAttention(3, 4, value_dim=5, output_shape=7)(q, v))


def operations():
    i = keras.Input((6,))
    x = L.Dense(6)(i)
    return keras.Model(i, L.Dense(2)(keras.ops.relu(x * 2.0 + i) - 1.0 / 2))


MODELS = {
    "mlp": lambda: seq(L.Dense(16, activation="relu"), L.Dropout(0.3), L.Dense(4, activation="softmax"), shape=(12,)),
    "activations": lambda: seq(
        *[
            L.Dense(5, activation=a)
            for a in (
                "elu",
                "selu",
                "silu",
                "hard_sigmoid",
                "softsign",
                "softplus",
                "gelu",
                "mish",
                "leaky_relu",
                "relu6",
                "exponential",
            )
        ],
        shape=(7,),
    ),
    "activation_layers": lambda: seq(
        L.Dense(6),
        L.LeakyReLU(),
        L.Dense(6),
        L.PReLU(),
        L.Dense(6),
        L.ELU(0.7),
        L.ReLU(max_value=2.0, negative_slope=0.1, threshold=0.2),
        L.Softmax(),
        shape=(6,),
    ),
    "cnn_valid": lambda: seq(
        L.Conv2D(6, 3, activation="relu"),
        L.MaxPooling2D(),
        L.Conv2D(8, (3, 2), strides=(2, 1)),
        L.Flatten(),
        L.Dense(10),
        shape=(14, 13, 3),
    ),
    "cnn_same_stride": lambda: seq(
        L.Conv2D(6, 3, strides=2, padding="same"),
        L.AveragePooling2D(3, 2, padding="same"),
        L.Conv2D(4, 4, padding="same", use_bias=False),
        L.MaxPooling2D(2, 2, padding="same"),
        L.Flatten(),
        L.Dense(3),
        shape=(15, 10, 3),
    ),
    "cnn_dilated_grouped": lambda: seq(
        L.Conv2D(8, 3, dilation_rate=2, padding="same", groups=2),
        L.Conv2D(4, 3, dilation_rate=2),
        L.GlobalMaxPooling2D(),
        shape=(12, 12, 4),
    ),
    "depthwise": lambda: seq(
        L.DepthwiseConv2D(3, depth_multiplier=2, padding="same"),
        L.SeparableConv2D(5, 3, strides=2, padding="same"),
        L.GlobalAveragePooling2D(keepdims=True),
        L.Flatten(),
        shape=(9, 9, 3),
    ),
    "transposed": lambda: seq(
        L.Conv2DTranspose(4, 3, strides=2, padding="same"),
        L.Conv2DTranspose(3, 2, strides=3),
        L.Conv2DTranspose(2, 4, strides=2, padding="same"),
        L.Flatten(),
        L.Dense(2),
        shape=(4, 5, 3),
    ),
    "batch_norm": lambda: seq(
        L.Conv2D(4, 3),
        L.BatchNormalization(),
        L.Activation("relu"),
        L.Flatten(),
        L.Dense(6),
        L.BatchNormalization(scale=False),
        L.Dense(2),
        shape=(8, 8, 2),
    ),
    "norms": lambda: seq(
        L.Conv2D(8, 3),
        L.LayerNormalization(),
        L.GroupNormalization(4),
        L.UnitNormalization(),
        L.Flatten(),
        L.RMSNormalization(),
        L.Dense(2),
        shape=(6, 6, 2),
    ),
    "conv1d": lambda: seq(
        L.Conv1D(6, 5, padding="causal", dilation_rate=2, activation="tanh"),
        L.MaxPooling1D(2),
        L.Conv1D(4, 3, padding="same", strides=2),
        L.GlobalAveragePooling1D(),
        L.Dense(2),
        shape=(20, 3),
    ),
    "conv3d": lambda: seq(
        L.Conv3D(4, 3, padding="same"), L.MaxPooling3D(2), L.GlobalAveragePooling3D(), L.Dense(2), shape=(6, 6, 6, 2)
    ),
    "separable_1d": lambda: seq(
        L.SeparableConv1D(5, 3, padding="same"),
        L.DepthwiseConv1D(3),
        L.Conv1DTranspose(4, 3, strides=2),
        L.Flatten(),
        L.Dense(2),
        shape=(10, 4),
    ),
    "padding": lambda: seq(
        L.ZeroPadding2D(((1, 2), (0, 3))),
        L.Cropping2D(((0, 1), (2, 0))),
        L.UpSampling2D(2),
        L.Conv2D(2, 3),
        L.UpSampling2D(2, interpolation="bilinear"),
        L.Flatten(),
        L.Dense(2),
        shape=(6, 7, 3),
    ),
    "reshape": lambda: seq(
        L.Dense(24), L.Reshape((4, 6)), L.Permute((2, 1)), L.Conv1D(3, 2), L.Flatten(), L.RepeatVector(3), L.LSTM(4), shape=(5,)
    ),
    "lstm": lambda: seq(L.LSTM(8, return_sequences=True), L.LSTM(5), L.Dense(2), shape=(9, 3)),
    "lstm_no_bias": lambda: seq(L.LSTM(8, use_bias=False, return_sequences=True), L.LSTM(5, activation="relu"), shape=(9, 3)),
    "lstm_hard": lambda: seq(
        L.LSTM(6, recurrent_activation="hard_sigmoid", recurrent_dropout=0.2, dropout=0.1), L.Dense(1), shape=(9, 3)
    ),
    "lstm_unrolled_backwards": lambda: seq(
        L.LSTM(6, unroll=True, return_sequences=True), L.LSTM(5, go_backwards=True), shape=(7, 3)
    ),
    "gru": lambda: seq(L.GRU(7, return_sequences=True), L.GRU(5), L.Dense(2), shape=(9, 3)),
    "gru_reset_before": lambda: seq(L.GRU(7, reset_after=False, return_sequences=True), L.GRU(5, use_bias=False), shape=(9, 3)),
    "simple_rnn": lambda: seq(L.SimpleRNN(7, return_sequences=True), L.SimpleRNN(5, activation="relu"), L.Dense(2), shape=(9, 3)),
    "bidirectional": lambda: seq(
        L.Bidirectional(L.LSTM(6, return_sequences=True)), L.Bidirectional(L.GRU(5), merge_mode="sum"), L.Dense(2), shape=(9, 3)
    ),
    "cnn_lstm": lambda: seq(
        L.Conv1D(2, 5, padding="same"),
        L.BatchNormalization(),
        L.ReLU(),
        L.LSTM(24, return_sequences=True),
        L.Dense(1),
        shape=(28, 6),
    ),
    "time_distributed": lambda: seq(
        L.TimeDistributed(L.Conv2D(3, 3)), L.TimeDistributed(L.Flatten()), L.GRU(4), shape=(5, 6, 6, 2)
    ),
    "embedding": lambda: words(
        L.Embedding(20, 6), L.SpatialDropout1D(0.2), L.Bidirectional(L.LSTM(5)), L.Dense(1, activation="sigmoid")
    ),
    "masked_embedding": lambda: words(L.Embedding(20, 6, mask_zero=True), L.LSTM(5, return_sequences=True), L.Dense(4), L.GRU(3)),
    "masking": lambda: seq(
        L.Masking(0.0), L.LSTM(5, return_sequences=True), L.GlobalAveragePooling1D(), L.Dense(1), shape=(6, 3)
    ),
    "rescaled": lambda: seq(L.Rescaling(1 / 127.5, offset=-1), L.Conv2D(3, 3, activation="sigmoid"), shape=(5, 6, 3)),
    "merges": lambda: (
        lambda i: keras.Model(
            i, L.Average()([L.Maximum()([L.Dense(4)(i), L.Dense(4)(i)]), L.Minimum()([L.Dense(4)(i), L.Dense(4)(i)])])
        )
    )(keras.Input((5,))),
    "residual": residual,
    "inception": inception,
    "transformer": transformer,
    "shared": shared,
    "nested": nested,
    "cross": cross,
    "operations": operations,
}


def leaves(layer):
    """Layers that hold arrays of their own."""
    inner = getattr(layer, "layers", None)
    if inner is not None and isinstance(layer, keras.Model):
        return [(f"{layer.name}/{path}", one) for sub in inner for path, one in leaves(sub)]
    return [(layer.name, layer)]


def keep(name, folder, rng, suffix):
    keras.utils.set_random_seed(1)
    model = MODELS[name]()
    model.set_weights(
        [
            w + 0.1 * rng.standard_normal(w.shape) if not w_is_variance(v) else 0.5 + rng.random(w.shape)
            for w, v in zip(model.get_weights(), model.weights, strict=True)
        ]
    )
    inputs = []
    for one in model.inputs:
        shape = (3, *one.shape[1:])
        if "int" in str(one.dtype):
            data = rng.integers(1, 20, shape)
            data[0, -3:] = data[1, :2] = 0
        else:
            data = rng.standard_normal(shape).astype("float32")
            if name == "masking":
                data[0, -2:] = data[1, 1] = 0
        inputs.append(data)
    out = model.predict(inputs if len(inputs) > 1 else inputs[0], verbose=0)
    if suffix == ".json":
        (folder / f"{name}.json").write_text(model.to_json())
    else:
        model.save(folder / f"{name}{suffix}")
    arrays = {f"in_{i}": a for i, a in enumerate(inputs)} | {"out": out}
    table = []
    for path, layer in leaves(model):
        deep = isinstance(layer, L.MultiHeadAttention)
        names = ["/".join(w.path.split("/")[-2 if deep else -1 :]) for w in layer.weights]
        held = (
            layer.layer
            if isinstance(layer, L.TimeDistributed)
            else layer.forward_layer
            if isinstance(layer, L.Bidirectional)
            else layer
        )
        for i, w in enumerate(layer.get_weights()):
            arrays[f"w_{len(table)}_{i}"] = w
        table.append([path.partition("/")[2], type(layer).__name__, type(held).__name__, names])
    np.savez(folder / f"{name}.npz", **arrays)
    return table


def w_is_variance(variable):
    return variable.path.endswith("moving_variance")


def main(folder):
    rng = np.random.default_rng(0)
    suffixes = (".keras", ".h5", ".json")
    tables = {
        name: {"suffix": suffixes[i % 3], "layers": keep(name, folder, rng, suffixes[i % 3])} for i, name in enumerate(MODELS)
    }
    (folder / "tables.json").write_text(json.dumps(tables))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
