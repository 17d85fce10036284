#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a language model with random weights as a GGUF file: two layers of the llama architecture, 64 wide.

usage: make_tiny_model.py FILE [--format mixed|f32] [--seed N]

Matrices are in three formats (f32, f16, q8_0), so that a run uses a kernel of each, or all in f32. Nothing is learned and there is no
vocabulary; what matters is that every backend gives the same tokens.
"""

import argparse
import random
import struct

WIDTH, HIDDEN, HEADS, LAYERS, VOCABULARY, CONTEXT = 64, 128, 2, 2, 256, 128
ALIGNMENT = 32
F32, F16, Q8_0 = 0, 1, 8  # ggml_type
U32, FLOAT, STRING = 4, 6, 8  # gguf_type


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    packed = {U32: lambda: struct.pack("<I", value), FLOAT: lambda: struct.pack("<f", value), STRING: lambda: text(value)}[kind]()
    return text(key) + struct.pack("<I", kind) + packed


def encode(values, kind):
    if kind == F32:
        return struct.pack(f"<{len(values)}f", *values)
    if kind == F16:
        return struct.pack(f"<{len(values)}e", *values)
    data = b""
    for start in range(0, len(values), 32):  # a scale and 32 bytes
        block = values[start:start + 32]
        scale = struct.unpack("<e", struct.pack("<e", max(map(abs, block)) / 127))[0]
        data += struct.pack("<e", scale) + struct.pack("<32b", *(max(-127, min(127, round(v / scale))) for v in block))
    return data


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--format", choices=("mixed", "f32"), default="mixed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    numbers = random.Random(options.seed)

    tensors = []  # (name, dimensions with the fastest first, kind)
    tensors.append(("token_embd.weight", (WIDTH, VOCABULARY), F16))
    for layer in range(LAYERS):
        matrix = F32 if layer == 0 else F16
        for name, dimensions, kind in (
                ("attn_norm", (WIDTH,), F32), ("attn_q", (WIDTH, WIDTH), Q8_0), ("attn_k", (WIDTH, WIDTH), matrix),
                ("attn_v", (WIDTH, WIDTH), Q8_0), ("attn_output", (WIDTH, WIDTH), matrix), ("ffn_norm", (WIDTH,), F32),
                ("ffn_gate", (WIDTH, HIDDEN), Q8_0), ("ffn_up", (WIDTH, HIDDEN), matrix), ("ffn_down", (HIDDEN, WIDTH), Q8_0)):
            tensors.append((f"blk.{layer}.{name}.weight", dimensions, kind))
    tensors += [("output_norm.weight", (WIDTH,), F32), ("output.weight", (WIDTH, VOCABULARY), Q8_0)]

    if options.format == "f32":
        tensors = [(name, dimensions, F32) for name, dimensions, _ in tensors]

    keys = [("general.architecture", STRING, "llama"), ("general.name", STRING, "tiny"), ("general.alignment", U32, ALIGNMENT),
            ("llama.context_length", U32, CONTEXT), ("llama.embedding_length", U32, WIDTH), ("llama.block_count", U32, LAYERS),
            ("llama.feed_forward_length", U32, HIDDEN), ("llama.attention.head_count", U32, HEADS),
            ("llama.attention.head_count_kv", U32, HEADS), ("llama.rope.dimension_count", U32, WIDTH // HEADS),
            ("llama.attention.layer_norm_rms_epsilon", FLOAT, 1e-5), ("llama.vocab_size", U32, VOCABULARY),
            ("tokenizer.ggml.model", STRING, "no_vocab")]

    header = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys)) + b"".join(entry(*key) for key in keys)
    body = b""
    for name, dimensions, kind in tensors:
        count = 1
        for dimension in dimensions:
            count *= dimension
        if len(dimensions) == 1:
            values = [1 + numbers.uniform(-0.1, 0.1) for _ in range(count)]
        else:
            values = [numbers.gauss(0, 1.5 / dimensions[0] ** 0.5) for _ in range(count)]
        header += text(name) + struct.pack("<I", len(dimensions)) + struct.pack(f"<{len(dimensions)}Q", *dimensions)
        header += struct.pack("<IQ", kind, len(body))
        body += encode(values, kind)
        body += bytes(-len(body) % ALIGNMENT)
    with open(options.file, "wb") as stream:
        stream.write(header + bytes(-len(header) % ALIGNMENT) + body)


if __name__ == "__main__":
    main()
