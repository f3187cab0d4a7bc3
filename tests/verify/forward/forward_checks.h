#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/verify/forward/forward_models.h"
#include "verify/forward/forward.h"

namespace hybridkv::testing {

/// An engine with memory enough for any small model, that caches prefixes.
inline EngineSpec engine_of_rules(const EngineRules& rules) {
  EngineSpec engine;
  engine.rules = &rules;
  engine.strategy = rules.strategy;
  engine.cache_mode = CacheMode::align;
  engine.memory_bytes = std::int64_t{1} << 30;
  return engine;
}

/// Four layers, every second one attention.
inline ModelSpec four_layers(DType dtype = DType::fp32, const RecurrentSpec& family = GdnSpec{2, 4, 16, 16, 4}) {
  return small_hybrid(family, dtype, full, 4);
}

/// Forward passes through a model as it is; all cases of the engine unless some are named.
inline ForwardReport unscaled_report(const ModelSpec& model, const EngineSpec& engine,
                                     std::optional<ForwardFault> fault = {}, std::vector<ForwardCase> cases = {}) {
  ForwardSpec spec;
  spec.scale = 1;
  spec.fault = fault;
  spec.cases = std::move(cases);
  return verify_forward(model, engine, spec);
}

/// "align", or "extra_buffer, page 16".
inline std::string variant_of(const ForwardResult& result) {
  if (!result.strategy) return std::string(to_string(result.mode));
  return fmt::format("{}, page {}", to_string(*result.strategy), result.page_tokens);
}

/// Plants every fault of an engine into the case that owns it: of `num_results` variants it is found in all in which
/// it has a place, `has_place(fault, result)`, and these alone, far beyond what rounding explains.
template <class HasPlace>
void check_every_fault(const EngineSpec& engine, const std::vector<RecurrentSpec>& families, std::size_t num_results,
                       HasPlace&& has_place) {
  for (const ForwardFault fault : forward_faults_of(*engine.rules)) {
    CAPTURE(to_string(fault));
    double least = INFINITY;
    for (const RecurrentSpec& family : families) {
      CAPTURE(family_name(family));
      const ForwardReport report =
          unscaled_report(four_layers(DType::bf16, family), engine, fault, {owner_of(info_of(fault))});
      CHECK(report.caught());
      REQUIRE(report.results.size() == num_results);
      for (const ForwardResult& result : report.results) {
        CAPTURE(variant_of(result));
        CAPTURE(result.message);
        const bool has_one = has_place(fault, result);
        CHECK((result.status == ForwardStatus::failed) == has_one);
        CHECK((result.planted > 0) == has_one);
        if (has_one) least = std::min(least, result.times_allowed());
      }
    }
    CHECK(least > 2);
    MESSAGE(fmt::format("{} found at {:.0f} times the bound at least", to_string(fault), least));
  }
}

/// Plants every fault of an engine into all of its cases: each is wrong or says that it has no place, and where
/// `counts_effects`, it was planted just where outputs are wrong.
inline void check_none_found_by_chance(const EngineSpec& engine, bool counts_effects) {
  for (const ForwardFault fault : forward_faults_of(*engine.rules)) {
    CAPTURE(to_string(fault));
    for (const ForwardResult& result : unscaled_report(four_layers(), engine, fault).results) {
      CAPTURE(to_string(result.forward_case));
      CAPTURE(variant_of(result));
      CAPTURE(result.message);
      CHECK((result.status == ForwardStatus::failed || result.status == ForwardStatus::does_not_apply));
      if (counts_effects) CHECK((result.planted > 0) == (result.times_allowed() > 1));
    }
  }
}

}  // namespace hybridkv::testing
