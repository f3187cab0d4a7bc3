#include "tests/attention/run_backend.h"

#include <fmt/format.h>

#include "attention/simd_path.h"

namespace hybridkv::test {

namespace {

std::vector<BackendUnderTest> every_way() {
  std::vector<BackendUnderTest> ways;
  for (const AttentionBackend backend : all_attention_backends)
    ways.push_back({std::string(to_string(backend)), backend, {}});
  BackendUnderTest way{"unified full", AttentionBackend::unified, {}};
  way.options.unified.shared_bias = SharedBiasMode::full;
  ways.push_back(way);
  way = {"unified in chunks of 2, all decodes", AttentionBackend::unified, {.decode_threshold_tokens = 1 << 20}};
  way.options.unified.chunk_blocks = 2;
  ways.push_back(way);
  ways.push_back({"unified on three threads", AttentionBackend::unified, {.unified = {.threads = 3}}});
  ways.push_back({"cascade on three threads in small tiles", AttentionBackend::cascade,
                  {.cascade_tile_tokens = 32, .cascade_threads = 3}});
  ways.push_back({"cascade in small tiles", AttentionBackend::cascade, {.cascade_tile_tokens = 32}});
  for (const SimdPath path : available_simd_paths())
    ways.push_back({fmt::format("paged {} on two threads", to_string(path)), AttentionBackend::paged,
                    {.paged = {.threads = 2, .simd = path}}});
  return ways;
}

}  // namespace

const std::vector<BackendUnderTest>& backends_under_test() {
  static const std::vector<BackendUnderTest> ways = every_way();
  return ways;
}

std::vector<BackendUnderTest> backends_for(const AttentionInputs& inputs) {
  std::vector<BackendUnderTest> able;
  for (const BackendUnderTest& way : backends_under_test())
    if (!unsupported(way.backend, features_of(inputs, *inputs.metadata))) able.push_back(way);
  return able;
}

BackendResult run(const BackendUnderTest& how, const AttentionInputs& inputs) {
  return build_metadata(how.backend, make_group_batch(inputs.metadata, inputs.shape()), how.options)->run(inputs);
}

}  // namespace hybridkv::test
