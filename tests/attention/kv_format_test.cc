#include "attention/kv_format.h"

#include <doctest/doctest.h>

#include "base/error.h"

namespace hybridkv {
namespace {

AttentionSpec heads_of(std::int64_t size, std::int64_t count = 1) {
  return {.kv_heads = count, .head_size_k = size, .head_size_v = size};
}

TEST_CASE("golden: bytes per token and head at head size 256") {
  const AttentionSpec layer = heads_of(256);
  CHECK(kv_bytes_per_token(layer, 1, KvFormat::int8_per_token_head) == 520);
  CHECK(kv_bytes_per_token(layer, 1, KvFormat::fp8_per_token_head) == 520);
  CHECK(kv_bytes_per_token(layer, 1, KvFormat::int4_per_token_head) == 264);
  CHECK(kv_bytes_per_token(layer, 1, KvFormat::nvfp4) == 288);
  CHECK(kv_bytes_per_token(layer, 1, KvFormat::turboquant_3bit_nc) == 198);
  CHECK(kv_bytes_per_token(layer, 1, KvFormat::turboquant_4bit_nc) == 262);
  CHECK(kv_bytes_per_token(layer, 1, KvFormat::turboquant_k8v4) == 388);
}

TEST_CASE("golden: bytes that K and V of unequal heads take, each") {
  const AttentionSpec layer{.kv_heads = 1, .head_size_k = 192, .head_size_v = 128};
  CHECK(head_bytes(layer, KvFormat::int8_per_token_head) == HeadBytes{196, 132});
  CHECK(head_bytes(layer, KvFormat::fp8_per_token_head) == HeadBytes{196, 132});
  CHECK(head_bytes(layer, KvFormat::int4_per_token_head) == HeadBytes{100, 68});
  CHECK(head_bytes(layer, KvFormat::nvfp4) == HeadBytes{108, 72});
}

TEST_CASE("golden: a latent of the DeepSeek kind takes 656 bytes on every rank") {
  const AttentionSpec latent{.kind = AttentionKind::mla, .kv_heads = 1, .head_size_k = 576, .head_size_v = 512};
  CHECK(kv_bytes_per_token(latent, 1, KvFormat::fp8_ds_mla) == 656);
  CHECK(kv_bytes_per_token(latent, 8, KvFormat::fp8_ds_mla) == 656);
  CHECK(head_bytes(latent, KvFormat::fp8_ds_mla) == HeadBytes{656, 528});
  CHECK(kv_bytes_per_token(latent, 8, KvFormat::nvfp4_ds_mla) == 352);
  CHECK(head_bytes(latent, KvFormat::nvfp4_ds_mla) == HeadBytes{352, 288});
}

TEST_CASE("golden: a latent without a part for RoPE takes the same fixed bytes") {
  for (const std::int64_t rope : {0, 32}) {
    const AttentionSpec latent{
        .kind = AttentionKind::mla, .kv_heads = 1, .head_size_k = 512 + rope, .head_size_v = 512};
    CHECK(kv_bytes_per_token(latent, 1, KvFormat::fp8_ds_mla) == 656);
    CHECK(kv_bytes_per_token(latent, 1, KvFormat::nvfp4_ds_mla) == 352);
  }
}

TEST_CASE("law: heads are shared by ranks, slots that lie side by side are even, names read back") {
  for (const KvFormat format : all_kv_formats) {
    CAPTURE(to_string(format));
    CHECK(parse_kv_format(to_string(format)) == format);
    if (keeps_latents(format)) continue;
    CHECK(kv_bytes_per_token(heads_of(128, 8), 4, format) == 2 * kv_bytes_per_token(heads_of(128), 1, format));
    if (!is_side_by_side(format)) continue;
    for (const std::int64_t size : {64, 80, 96, 100, 104, 256})
      CHECK(kv_bytes_per_token(heads_of(size), 1, format) % 2 == 0);
  }
  CHECK(parse_kv_format("int2") == std::nullopt);
}

TEST_CASE("edge: formats that a layer cannot have are refused") {
  const AttentionSpec latent{.kind = AttentionKind::mla, .kv_heads = 1, .head_size_k = 512, .head_size_v = 512};
  CHECK_THROWS_WITH_AS(
      head_bytes(latent, KvFormat::nvfp4),
      "engine.kv_dtype: nvfp4 keeps K and V of heads, but the model has mla layers; take fp8_ds_mla, "
      "nvfp4_ds_mla or an element type",
      SpecError);
  AttentionSpec other = latent;
  other.head_size_k = 640;
  CHECK_THROWS_WITH_AS(head_bytes(other, KvFormat::fp8_ds_mla),
                       "engine.kv_dtype: fp8_ds_mla is a format of latents of 512 + at most 64 elements, these have "
                       "512 + 128",
                       SpecError);
  other = {.kind = AttentionKind::mla, .kv_heads = 1, .head_size_k = 320, .head_size_v = 256};
  CHECK_THROWS_WITH_AS(head_bytes(other, KvFormat::nvfp4_ds_mla),
                       "engine.kv_dtype: nvfp4_ds_mla is a format of latents of 512 + at most 64 elements, these have "
                       "256 + 64",
                       SpecError);
  CHECK_THROWS_WITH_AS(head_bytes(heads_of(128), KvFormat::fp8_ds_mla),
                       "engine.kv_dtype: fp8_ds_mla keeps latents, but the model has full_attention layers", SpecError);
  CHECK_THROWS_WITH_AS(head_bytes(heads_of(72), KvFormat::nvfp4),
                       "engine.kv_dtype: nvfp4 has a scale for every 16 channels, but heads have 72 and 72", SpecError);
  CHECK_THROWS_WITH_AS(head_bytes(heads_of(81), KvFormat::int4_per_token_head),
                       "engine.kv_dtype: int4_per_token_head packs two channels into a byte, but heads have 81 and 81",
                       SpecError);
}

}  // namespace
}  // namespace hybridkv
