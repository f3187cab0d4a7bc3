#include "planner/model_parameters.h"

#include <doctest/doctest.h>

#include "base/error.h"
#include "planner/weight_bytes.h"

namespace hybridkv::test {

namespace {

/// Two kinds of layer, 8 experts of which a token takes 2.
ModelParameters some_parameters() {
  ModelParameters parameters;
  KindParameters attention{.kind = "a", .kv_heads = 2};
  attention.counts[ParameterPart::attention] = 800;
  attention.counts[ParameterPart::keys_values] = 200;
  attention.counts[ParameterPart::latents] = 30;
  attention.counts[ParameterPart::routed_experts] = 8000;
  attention.counts[ParameterPart::norms] = 10;
  KindParameters recurrent{.kind = "m"};
  recurrent.counts[ParameterPart::recurrent] = 1000;
  recurrent.counts[ParameterPart::dense] = 601;
  parameters.layers = {attention, recurrent};
  parameters.beside[ParameterPart::embeddings] = 400;
  parameters.beside[ParameterPart::head] = 300;
  parameters.draft[ParameterPart::attention] = 100;
  parameters.experts = 8;
  parameters.experts_per_token = 2;
  return parameters;
}

}  // namespace

TEST_CASE("golden: total and active parameters by part") {
  const ModelParameters parameters = some_parameters();
  CHECK(total_parameters(parameters) == 800 + 200 + 30 + 8000 + 10 + 1000 + 601 + 400 + 300);
  CHECK(active_parameters(parameters) == total_parameters(parameters) - 6000);
  CHECK(counts_of(parameters)[ParameterPart::routed_experts] == 8000);
  ModelParameters with_ngrams = parameters;
  with_ngrams.layers.front().counts[ParameterPart::embeddings] = 5000;
  CHECK(total_parameters(with_ngrams) == total_parameters(parameters) + 5000);
  CHECK(active_parameters(with_ngrams) == active_parameters(parameters));
}

TEST_CASE("golden: bytes of weights on one rank") {
  const ModelParameters parameters = some_parameters();
  const auto bytes = [&](const WeightSplit& split) { return weight_bytes_per_rank(parameters, split, DType::bf16); };
  CHECK(bytes({}) == 2 * total_parameters(parameters));
  CHECK(bytes({.with_drafts = true}) == 2 * (total_parameters(parameters) + 100));
  // Two KV heads on four ranks: each has one whole, so half of K and V.
  const std::int64_t layers_of_4 = 200 + 100 + 30 + 2000 + 10 + 250 + 151;
  CHECK(bytes({.tensor_parallel = 4}) == 2 * (layers_of_4 + 100 + 75));
  CHECK(bytes({.tensor_parallel = 4, .expert_parallel = 8}) == 2 * (layers_of_4 - 1000 + 100 + 75));
  // A stage has half the layers and the larger of both tables.
  CHECK(bytes({.tensor_parallel = 4, .pipeline_parallel = 2}) == layers_of_4 + 2 * 100);
}

TEST_CASE("golden: quantised layers beside tables of tokens that are not") {
  ModelParameters parameters = some_parameters();
  parameters.expert_bits = 4.25;
  CHECK(weight_bytes_per_rank(parameters, {}, DType::bf16) == 2 * (total_parameters(parameters) - 8000) + 4250);
  parameters.weight_bits = 8;
  CHECK(weight_bytes_per_rank(parameters, {}, DType::bf16) == (800 + 200 + 30 + 1000 + 601) + 4250 + 2 * 710);
}

TEST_CASE("law: a rank never holds less than its share and never more than all") {
  const ModelParameters parameters = some_parameters();
  const std::int64_t all = weight_bytes_per_rank(parameters, {}, DType::bf16);
  for (const std::int64_t ranks : {1, 2, 3, 4, 7, 8, 64}) {
    const std::int64_t bytes = weight_bytes_per_rank(parameters, {.tensor_parallel = ranks}, DType::bf16);
    CHECK(bytes * ranks >= all);
    CHECK(bytes <= all);
  }
}

TEST_CASE("error: sums beyond 64 bits") {
  ModelParameters parameters = some_parameters();
  parameters.beside[ParameterPart::head] = INT64_MAX;
  CHECK_THROWS_AS(total_parameters(parameters), InputError);
  CHECK_THROWS_AS(weight_bytes_per_rank(parameters, {}, DType::bf16), InputError);
}

}  // namespace hybridkv::test
