"""A small image classifier, written in the language of RLX.

The function is read, not run: `rlx.tensor` declares an input, `rlx.constant` holds weights. Random weights are frozen:
the same name gives the same numbers everywhere. For real ones write rlx.constant(file="weights.safetensors", key="…").
"""

import numpy as np

import rlx


@rlx.module
def classifier():
    image = rlx.tensor(shape=[1, 3, 32, 32], dtype="float32", layout="NHWC")
    stem_weight = rlx.constant(value=np.random.normal(0.0, 0.27, size=[16, 3, 3, 3]).astype(np.float32))
    stem = rlx.conv2d(
        image,
        stem_weight,
        strides=[2, 2],
        padding=[1, 1],
        compute_schedule={"parallel_dims": ["height"], "vectorize_dim": "output_channel"},
    )
    features = rlx.global_average_pool(rlx.relu(rlx.batch_norm(stem, eps=1e-5)))
    head_weight = rlx.constant(value=np.random.normal(0.0, 0.25, size=[16, 10]).astype(np.float32))
    scores = rlx.matmul(features.reshape(1, 16), head_weight)
    return {"probabilities": rlx.softmax(scores, axis=1)}
