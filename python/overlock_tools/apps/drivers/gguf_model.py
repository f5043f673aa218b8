# SPDX-License-Identifier: MIT
"""gguf_model.py FILE: a language model of random weights, 22 MB, which llama.cpp takes for one."""

import sys

import gguf
import numpy as np

WIDTH, LAYERS, HEADS, INNER, WORDS = 256, 8, 4, 512, 512
NORMAL, UNKNOWN, CONTROL, BYTE = 1, 2, 3, 6  # kinds of tokens
SPREAD = 0.05


def facts(writer: gguf.GGUFWriter) -> None:
    writer.add_name("random")
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(WORDS)
    writer.add_file_type(0)


def vocabulary(writer: gguf.GGUFWriter) -> None:
    special = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL)]
    of_bytes = [(f"<0x{byte:02X}>", BYTE) for byte in range(256)]
    words = [(f"\u2581t{n}", NORMAL) for n in range(WORDS - len(special) - len(of_bytes))]
    tokens = special + of_bytes + words
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text.encode() for text, _ in tokens])
    writer.add_token_scores([0.0] * WORDS)
    writer.add_token_types([kind for _, kind in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)


def weights(writer: gguf.GGUFWriter) -> None:
    draw = np.random.default_rng(0)

    def drawn(name: str, *shape: int) -> None:
        writer.add_tensor(f"{name}.weight", (draw.normal(size=shape) * SPREAD).astype("f4"))

    def ones(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, "f4"))

    drawn("token_embd", WORDS, WIDTH)
    ones("output_norm")
    drawn("output", WORDS, WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            drawn(f"{block}.{name}", WIDTH, WIDTH)
        drawn(f"{block}.ffn_gate", INNER, WIDTH)
        drawn(f"{block}.ffn_up", INNER, WIDTH)
        drawn(f"{block}.ffn_down", WIDTH, INNER)
        ones(f"{block}.attn_norm")
        ones(f"{block}.ffn_norm")


def main() -> None:
    writer = gguf.GGUFWriter(sys.argv[1], "llama")
    facts(writer)
    vocabulary(writer)
    weights(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
