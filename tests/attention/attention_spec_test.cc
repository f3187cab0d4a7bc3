#include "attention/attention_spec.h"

#include <doctest/doctest.h>

#include <utility>

#include "base/error.h"

namespace hybridkv {
namespace {

/// Full attention of Qwen3.5-397B-A17B.
constexpr AttentionSpec qwen{.query_heads = 32, .kv_heads = 2, .head_size_k = 256, .head_size_v = 256};
/// The latent of Kimi and GLM: kv_lora_rank 512 and 64 channels of RoPE.
constexpr AttentionSpec latent{.kind = AttentionKind::mla, .query_heads = 64, .kv_heads = 1, .head_size_k = 576,
                               .head_size_v = 512};

TEST_CASE("golden: bytes of one token, Qwen3.5-397B at TP2 in bf16: 1024") {
  CHECK(kv_bytes_per_token(qwen, 2, DType::bf16) == 1024);
  CHECK(kv_bytes_per_token(qwen, 1, DType::bf16) == 2048);
  CHECK(kv_bytes_per_token(qwen, 2, DType::fp32) == 2048);
  CHECK(kv_bytes_per_token(qwen, 2, DType::fp8_e4m3) == 512);
  // Section 6: the page of one layer at block 2096, of five at block 432.
  CHECK(2096 * kv_bytes_per_token(qwen, 2, DType::bf16) == 2'146'304);
  CHECK(5 * 432 * kv_bytes_per_token(qwen, 2, DType::bf16) == 2'211'840);
}

TEST_CASE("golden: KV heads are never fewer than one per rank, K and V may differ in size") {
  CHECK(kv_heads_per_rank(qwen, 1) == 2);
  CHECK(kv_heads_per_rank(qwen, 2) == 1);
  CHECK(kv_heads_per_rank(qwen, 8) == 1);
  CHECK(kv_bytes_per_token(qwen, 8, DType::bf16) == 1024);
  AttentionSpec unequal = qwen;
  unequal.head_size_v = 128;
  CHECK(kv_bytes_per_token(unequal, 1, DType::bf16) == 2 * (256 + 128) * 2);
}

TEST_CASE("golden: MLA keeps one latent, no doubling and no split over ranks") {
  CHECK(kv_bytes_per_token(latent, 1, DType::bf16) == 1152);
  CHECK(kv_bytes_per_token(latent, 16, DType::bf16) == 1152);
  CHECK(kv_heads_per_rank(latent, 3) == 1);
}

TEST_CASE("edge: ranks that fit no heads are refused with the divisors") {
  AttentionSpec six = qwen;
  six.kv_heads = 6;
  CHECK(kv_heads_per_rank(six, 3) == 2);
  CHECK(kv_heads_per_rank(six, 12) == 1);
  CHECK_THROWS_WITH_AS(
      kv_heads_per_rank(six, 4),
      "engine.tensor_parallel: 4 ranks fit 6 KV heads neither way; take a divisor (1, 2, 3, 6) or a multiple of 6",
      SpecError);
  CHECK_THROWS_AS(kv_bytes_per_token(six, 5, DType::bf16), SpecError);
  CHECK(query_heads_per_rank(qwen, 4) == 8);
  CHECK_THROWS_WITH_AS(query_heads_per_rank(qwen, 3),
                       doctest::Contains("3 ranks cannot share 32 query heads; take a divisor: 1, 2, 4, 8, 16, 32"),
                       SpecError);
  six.head_size_k = std::int64_t{1} << 61;
  CHECK_THROWS_WITH_AS(kv_bytes_per_token(six, 1, DType::bf16), doctest::Contains("too large for 64 bits"), InputError);
}

TEST_CASE("golden: heads are padded up to a multiple of the ranks, query heads in proportion") {
  AttentionSpec layer{.query_heads = 14, .kv_heads = 2, .head_size_k = 64, .head_size_v = 64};
  const auto heads = [&](std::int64_t ranks) {
    const AttentionSpec padded = with_padded_heads(layer, ranks);
    return std::pair{padded.query_heads, padded.kv_heads};
  };
  CHECK(heads(3) == std::pair<std::int64_t, std::int64_t>{21, 3});
  CHECK(heads(4) == std::pair<std::int64_t, std::int64_t>{28, 4});  // 2 KV heads fit 4 ranks, 14 query heads do not
  CHECK(heads(2) == std::pair<std::int64_t, std::int64_t>{14, 2});
  CHECK(with_padded_heads(latent, 48).query_heads == 96);
  CHECK(with_padded_heads(latent, 48).kv_heads == 1);
}

TEST_CASE("law: padded heads are shared by any ranks, and nothing is padded that is shared as it is") {
  for (std::int64_t kv_heads = 1; kv_heads <= 16; ++kv_heads)
    for (std::int64_t ratio = 0; ratio <= 4; ++ratio)
      for (std::int64_t ranks = 1; ranks <= 24; ++ranks) {
        const AttentionSpec layer{.query_heads = ratio * kv_heads, .kv_heads = kv_heads, .head_size_k = 8,
                                  .head_size_v = 8};
        const AttentionSpec padded = with_padded_heads(layer, ranks);
        CHECK_NOTHROW(kv_heads_per_rank(padded, ranks));
        CHECK_NOTHROW(query_heads_per_rank(padded, ranks));
        CHECK(padded.query_heads == ratio * padded.kv_heads);
        CHECK(padded.kv_heads >= kv_heads);
        CHECK(padded.kv_heads < kv_heads + ranks);
        const bool shared = (kv_heads % ranks == 0 || ranks % kv_heads == 0) && layer.query_heads % ranks == 0;
        CHECK((padded == layer) == (shared || padded.kv_heads == kv_heads));
      }
}

TEST_CASE("golden: names of the kinds") {
  CHECK(to_string(AttentionKind::full) == "full_attention");
  CHECK(to_string(AttentionKind::sliding_window) == "sliding_window");
  CHECK(to_string(AttentionKind::chunked_local) == "chunked_local");
  CHECK(to_string(AttentionKind::mla) == "mla");
}

}  // namespace
}  // namespace hybridkv
