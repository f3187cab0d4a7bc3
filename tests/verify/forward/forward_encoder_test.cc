// Layers that attend to an encoder, through the forward pass.
#include <doctest/doctest.h>

#include "engines/vllm/rules.h"
#include "tests/verify/forward/forward_checks.h"

namespace hybridkv {
namespace {

using testing::full;
using testing::unscaled_report;

AttentionSpec to_encoder(std::int64_t query_heads, std::int64_t kv_heads) {
  return {AttentionKind::cross, query_heads, kv_heads, 16, 16, 0};
}

/// Four layers that attend to themselves and to an encoder, the last one to the encoder alone.
ModelSpec encoder_model(DType dtype = DType::fp32, std::int64_t encoder_tokens = 37) {
  ModelSpec model{.name = "small encoder-decoder", .dtype = dtype, .encoder_tokens = encoder_tokens};
  for (int i = 0; i < 4; ++i) model.layers.push_back({.attention = full, .cross = to_encoder(4, 2)});
  model.layers.back().attention.reset();
  return model;
}

EngineSpec encoder_engine(const EngineRules& rules) {
  return {.rules = &rules, .memory_bytes = std::int64_t{1} << 30};
}

}  // namespace

TEST_CASE("law: attention to an encoder through blocks gives what it gives without, and prefixes are not shared") {
  for (const EngineRules* rules : {&rules_of_vllm_0_33, &rules_of_vllm_2026_06})
    for (const std::int64_t encoder_tokens : {1, 16, 37}) {
      const ForwardReport report =
          unscaled_report(encoder_model(DType::fp32, encoder_tokens), encoder_engine(*rules));
      CHECK(report.passed());
      for (const ForwardResult& result : report.results) {
        CAPTURE(to_string(result.forward_case));
        CHECK_MESSAGE(result.status != ForwardStatus::failed, result.message);
        if (result.forward_case == ForwardCase::shared_prefix)
          CHECK(result.message == "an encoder reads something else for each request, so no prefix is cached");
      }
    }
}

TEST_CASE("fault: another request's encoder and a vector behind its end are found in every dtype") {
  for (const EngineRules* rules : {&rules_of_vllm_0_33, &rules_of_vllm_2026_06})
    for (const DType dtype : {DType::fp32, DType::bf16})
      for (const ForwardFault fault : {ForwardFault::foreign_encoder, ForwardFault::encoder_past_end}) {
        CAPTURE(to_string(fault));
        const ForwardReport report = unscaled_report(encoder_model(dtype), encoder_engine(*rules), fault,
                                                     {testing::owner_of(info_of(fault))});
        CHECK(report.caught());
        for (const ForwardResult& result : report.results) {
          CHECK(result.planted > 0);
          CHECK(result.times_allowed() > 3);
        }
      }
}

TEST_CASE("edge: the faults have no place where no layer attends to an encoder") {
  for (const ForwardFault fault : {ForwardFault::foreign_encoder, ForwardFault::encoder_past_end})
    for (const ForwardResult& result : unscaled_report(testing::four_layers(), encoder_engine(rules_of_vllm_2026_06),
                                                       fault, {testing::owner_of(info_of(fault))}).results)
      CHECK(result.status == ForwardStatus::does_not_apply);
}

}  // namespace hybridkv
