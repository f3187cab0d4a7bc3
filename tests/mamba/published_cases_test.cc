// The recurrences against runs of published packages (transformers 5.23.0, fla-core 0.6.0, mamba-ssm 2.3.2.post1,
// causal-conv1d 1.7.0, mambapy 1.2.0, in float64 on a CPU): nothing under tests/data/mamba was computed here. Each
// case.json says which package made the numbers, which others agree with it and how far.
#include "tests/mamba/published_case.h"

#include <set>

#include "tests/mamba/recurrent_cases.h"
#include "test_paths.h"

namespace hybridkv {
namespace {

const std::vector<PublishedCase>& published_cases() {
  static const std::vector<PublishedCase> cases = read_published_cases(HYBRIDKV_TEST_DATA "/mamba");
  return cases;
}

/// PyTorch's softplus is x itself above 20, log(1 + e^x) is not: up to 2e-9 apart, 1e-10 of it.
double reference_bound(const PublishedCase& published) { return published.softplus_saturates ? 1e-10 : 1e-13; }

std::int64_t in(const PublishedCase& published) { return input_width(published.layer.spec); }
std::int64_t out(const PublishedCase& published) { return output_width(published.layer.spec); }

/// Outputs of the tokens in [first, last), for which the reference goes on from `state`.
std::vector<double> run_slowly(const PublishedCase& published, std::int64_t first, std::int64_t last,
                               RecurrentStateRef& state) {
  const std::vector<double> inputs(published.inputs.begin() + first * in(published),
                                   published.inputs.begin() + last * in(published));
  std::vector<double> outputs(static_cast<std::size_t>((last - first) * out(published)));
  run_reference(published.layer, inputs, state, outputs);
  return outputs;
}

void check_state(const RecurrentStateRef& state, const RecurrentStateRef& expected, double bound) {
  // A convolution state is a copy of inputs, or a product of two of them, which double holds exactly.
  CHECK(state.conv == expected.conv);
  CHECK(relative_error(state.ssm, expected.ssm) <= bound);
}

TEST_CASE("golden: published cases of every family are there, with states in the middle") {
  std::set<std::string_view> families;
  std::size_t splits = 0;
  for (const PublishedCase& published : published_cases()) {
    families.insert(family_name(published.layer.spec));
    splits += published.splits.size();
    REQUIRE(published.inputs.size() == static_cast<std::size_t>(published.tokens * in(published)));
    REQUIRE(published.outputs.size() == static_cast<std::size_t>(published.tokens * out(published)));
  }
  CHECK(published_cases().size() >= 37);
  CHECK(families.size() == std::variant_size_v<RecurrentSpec>);
  CHECK(splits >= 60);
}

TEST_CASE("golden: the reference is what published packages compute, in outputs and states") {
  for (const PublishedCase& published : published_cases()) {
    CAPTURE(published.name);
    RecurrentStateRef state = published.start;
    const std::vector<double> outputs = run_slowly(published, 0, published.tokens, state);
    CHECK(relative_error(outputs, published.outputs) <= reference_bound(published));
    check_state(state, published.end, reference_bound(published));
  }
}

TEST_CASE("golden: the reference has the published state after every split, and goes on from one as published") {
  for (const PublishedCase& published : published_cases()) {
    CAPTURE(published.name);
    for (const PublishedSplit& split : published.splits) {
      CAPTURE(split.position);
      RecurrentStateRef state = published.start;
      run_slowly(published, 0, split.position, state);
      check_state(state, split.state, reference_bound(published));
    }
    if (published.splits.empty()) continue;
    const PublishedSplit& second = published.splits[published.second_from];
    RecurrentStateRef state = second.state;
    const std::vector<double> outputs = run_slowly(published, second.position, published.tokens, state);
    CHECK(relative_error(outputs, published.second_outputs) <= reference_bound(published));
    check_state(state, published.end, reference_bound(published));
  }
}

constexpr double chunked_bound = 1e-5;

void put_state(const RecurrentStateRef& state, const StateView& view) {
  const auto narrowed = [](const std::vector<double>& values) {
    return std::vector<float>(values.begin(), values.end());
  };
  if (view.has_conv()) store_tensor(view.conv, narrowed(state.conv));
  if (view.has_ssm()) store_tensor(view.ssm, narrowed(state.ssm));
}

double state_error(const StateView& view, const RecurrentStateRef& expected) {
  double error = 0;
  if (view.has_conv()) error = relative_error(load_tensor(view.conv), expected.conv);
  if (view.has_ssm()) error = std::max(error, relative_error(load_tensor(view.ssm), expected.ssm));
  return error;
}

/// Outputs of the tokens in [first, last), run in chunks from one page into another.
std::vector<float> run_fast(const PublishedCase& published, std::int64_t first, std::int64_t last, std::int64_t chunk,
                            const StateView& from, const StateView& to) {
  std::vector<float> outputs(static_cast<std::size_t>((last - first) * out(published)));
  run_chunked(published.layer,
              std::span(published.inputs).subspan(first * in(published), (last - first) * in(published)), from, to,
              chunk, outputs);
  return outputs;
}

TEST_CASE("golden: chunked forms in fp32 are within 1e-5 of published packages at every chunk length") {
  for (const PublishedCase& published : published_cases())
    for (const std::int64_t chunk : {1, 2, 7, 16, 32, 64, 100, 256}) {
      CAPTURE(published.name);
      CAPTURE(chunk);
      StatePages pages(published.layer.spec, 2, DType::fp32);
      put_state(published.start, pages.at(0));
      const std::vector<float> outputs = run_fast(published, 0, published.tokens, chunk, pages.at(0), pages.at(1));
      CHECK(relative_error(outputs, published.outputs) <= chunked_bound);
      CHECK(state_error(pages.at(1), published.end) <= chunked_bound);
    }
}

TEST_CASE("golden: chunked forms hand a state over wherever published packages did") {
  for (const PublishedCase& published : published_cases())
    for (const PublishedSplit& split : published.splits)
      for (const std::int64_t chunk : {1, 16, 64, 256}) {
        CAPTURE(published.name);
        CAPTURE(split.position);
        CAPTURE(chunk);
        StatePages pages(published.layer.spec, 3, DType::fp32);
        put_state(published.start, pages.at(0));
        std::vector<float> outputs = run_fast(published, 0, split.position, chunk, pages.at(0), pages.at(1));
        CHECK(state_error(pages.at(1), split.state) <= chunked_bound);
        const std::vector<float> rest =
            run_fast(published, split.position, published.tokens, chunk, pages.at(1), pages.at(2));
        outputs.insert(outputs.end(), rest.begin(), rest.end());
        CHECK(relative_error(outputs, published.outputs) <= chunked_bound);
        CHECK(state_error(pages.at(2), published.end) <= chunked_bound);
      }
}

TEST_CASE("golden: chunked forms go on from a published state as published packages do") {
  for (const PublishedCase& published : published_cases()) {
    if (published.splits.empty()) continue;
    const PublishedSplit& second = published.splits[published.second_from];
    for (const std::int64_t chunk : {1, 7, 16, 64, 256}) {
      CAPTURE(published.name);
      CAPTURE(chunk);
      StatePages pages(published.layer.spec, 2, DType::fp32);
      put_state(second.state, pages.at(0));
      const std::vector<float> outputs =
          run_fast(published, second.position, published.tokens, chunk, pages.at(0), pages.at(1));
      CHECK(relative_error(outputs, published.second_outputs) <= chunked_bound);
      CHECK(state_error(pages.at(1), published.end) <= chunked_bound);
    }
  }
}

}  // namespace
}  // namespace hybridkv
