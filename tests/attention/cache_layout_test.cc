#include "attention/cache_layout.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "layout/injectivity.h"
#include "layout/placed_layout.h"
#include "layout/shift.h"
#include "layout/slice.h"
#include "layout/split.h"
#include "test_paths.h"

using namespace hybridkv;

namespace {

using Numbers = std::vector<std::int64_t>;

CacheTensorSpec spec_of_row(const nlohmann::json& row) {
  CacheTensorSpec spec{.order = parse_cache_order(row["layout"].get<std::string>()).value(),
                       .layers = row["num_layers"],
                       .blocks = row["num_blocks"],
                       .heads = row["heads"],
                       .tokens = row.value("states", row["block_size"].get<std::int64_t>()),
                       .content_bytes = row["content_bytes"]};
  const bool state = row["form"] == "state";
  spec.kernel_tokens = state ? 1 : row.value("kernel_block_size", row["block_size"].get<std::int64_t>());
  if (row.contains("page_size_padded")) spec.padded_page_bytes = row["page_size_padded"].get<std::int64_t>();
  spec.block_bytes = Checked(spec.layers) * spec.page_bytes() + row.value("extra_block_bytes", std::int64_t(0));
  return spec;
}

/// What only the message of that refusal says.
const char* words_of(const std::string& refusal) {
  if (refusal == "kernel block does not divide the block") return "does not divide the block";
  if (refusal == "padded page is split") return "is not split into kernel blocks";
  if (refusal == "padding behind heads") return "keeps no padding behind the heads";
  if (refusal == "blocks are no dense pages") return "does not keep blocks as dense pages";
  return refusal == "view leaves the pool" ? "leaves the pool" : "unknown refusal";
}

/// The view of a layer as the engine has it: (block, head, token, element).
Layout in_elements(const Layout& layers, std::int64_t layer, std::int64_t element) {
  const Layout bytes = slice(layers, "layer", layer);
  return slice(split(bytes, "byte", "element", "byte", element), "byte", 0);
}

Numbers extents(const Layout& layout) {
  Numbers numbers;
  for (const Axis& axis : layout.axes()) numbers.push_back(axis.extent);
  return numbers;
}

Numbers strides_in(const Layout& layout, std::int64_t element) {
  Numbers numbers;
  for (const Axis& axis : layout.axes()) {
    CHECK(axis.stride % element == 0);
    numbers.push_back(axis.stride / element);
  }
  return numbers;
}

/// Bytes of the allocation that a group of these layers alone has.
std::int64_t allocated_bytes(const CacheTensorSpec& spec) {
  if (is_block_outermost(spec.order)) return Checked(spec.blocks) * spec.block_bytes;
  return Checked(spec.blocks) * spec.layers * spec.page_bytes();
}

CacheTensorSpec random_spec() {
  const auto between = [](std::int64_t first, std::int64_t last) {
    return *rc::gen::inRange<std::int64_t>(first, last + 1);
  };
  CacheTensorSpec spec{.order = *rc::gen::elementOf(std::vector(all_cache_orders.begin(), all_cache_orders.end())),
                       .layers = between(1, 4),
                       .blocks = between(1, 4),
                       .heads = between(1, 4),
                       .content_bytes = between(1, 6)};
  spec.kernel_tokens = between(1, 4);
  spec.tokens = spec.kernel_tokens * between(1, 3);
  if (between(1, 4) == 1) spec.padded_page_bytes = spec.dense_page_bytes() + between(0, 9);
  spec.block_bytes = spec.layers * spec.page_bytes() + (between(1, 3) == 1 ? between(1, 40) : 0);
  return spec;
}

constexpr CacheTensorSpec small{.order = CacheOrder::bhlnc, .layers = 1, .blocks = 3, .heads = 2, .tokens = 4,
                                .content_bytes = 6, .block_bytes = 48, .kernel_tokens = 2};

}  // namespace

TEST_CASE("golden: all 1,072 results of vLLM 0.33, views equal and refusals refused for the same reason") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/attention/strides_vllm_0_33.jsonl");
  std::map<std::string, int> forms, refusals;
  for (std::string line; std::getline(file, line);) {
    CAPTURE(line);
    const auto row = nlohmann::json::parse(line);
    ++forms[row["form"]];
    const CacheTensorSpec spec = spec_of_row(row);
    if (row.contains("error")) {
      ++refusals[row["error"]];
      CHECK_THROWS_WITH_AS(cache_layout(spec), doctest::Contains(words_of(row["error"])), SpecError);
      continue;
    }
    std::optional<Layout> layers;
    CHECK_NOTHROW(layers = cache_layout(spec));
    if (!layers) continue;
    const std::int64_t element = row["elem_size"], parts = spec.tokens / spec.kernel_tokens;
    CHECK(layers->stride("layer") == row["layer_stride"]);
    CHECK(layers->stride("block") * parts == row["block_stride"]);
    Numbers offsets;
    for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
      const Layout view = in_elements(*layers, layer, element);
      CHECK(extents(view) == row["view_shape"].get<Numbers>());
      Numbers strides = strides_in(Layout(view.axes().first(3)), element);
      strides.push_back(1);
      CHECK(view.stride("element") == element);
      CHECK(strides == row["view_strides"].get<Numbers>());
      offsets.push_back(view.offset() / element);
    }
    CHECK(offsets == row["storage_offsets"].get<Numbers>());
  }
  CHECK(forms == std::map<std::string, int>{{"diffkv", 108},
                                            {"int4_pth", 58},
                                            {"int8_pth", 104},
                                            {"kv", 210},
                                            {"kv_fp32", 64},
                                            {"kv_fp8", 216},
                                            {"mla", 13},
                                            {"mla_fp8ds", 13},
                                            {"nvfp4", 49},
                                            {"state", 31},
                                            {"swa", 206}});
  CHECK(refusals == std::map<std::string, int>{{"blocks are no dense pages", 148},
                                               {"kernel block does not divide the block", 78},
                                               {"padded page is split", 91},
                                               {"padding behind heads", 43},
                                               {"view leaves the pool", 11}});
}

TEST_CASE("edge: BHLNC with one layer, several heads and split blocks is the engine's own hole, and is named") {
  CHECK_THROWS_WITH_AS(cache_layout(small),
                       "engine.physical_order: BHLNC with one layer and 2 heads: the engine splits the blocks, but "
                       "steps from head to head as over whole blocks (24 bytes), so that its view leaves the pool; "
                       "take a block of 2 tokens, or another order",
                       SpecError);
  // What the engine would make: the last element of its view lies behind the allocation.
  const Layout engine({{"block", 6, 24}, {"head", 2, 24}, {"token", 2, 6}, {"byte", 6, 1}});
  CHECK_FALSE(contains(allocated_bytes(small), {engine, 1, 0}));
  CacheTensorSpec sound = small;
  sound.kernel_tokens = 4;
  CHECK(contains(allocated_bytes(small), {cache_layout(sound), 1, 0}));
  sound = small;
  sound.heads = 1, sound.block_bytes = 24;  // one head has nothing to step over
  CHECK(contains(allocated_bytes(sound), {cache_layout(sound), 1, 0}));
  sound = small;
  sound.layers = 2, sound.block_bytes = 96;
  CHECK_THROWS_WITH_AS(cache_layout(sound), doctest::Contains("does not keep blocks as dense pages"), SpecError);
}

TEST_CASE("edge: a padding of no bytes is padding, as the engine has it") {
  CacheTensorSpec spec = small;
  spec.order = CacheOrder::lbnhc;
  CHECK_NOTHROW(cache_layout(spec));
  spec.padded_page_bytes = spec.dense_page_bytes();
  CHECK_THROWS_WITH_AS(cache_layout(spec), doctest::Contains("is not split into kernel blocks"), SpecError);
  spec.kernel_tokens = spec.tokens;
  spec.order = CacheOrder::lhbnc;
  CHECK_THROWS_WITH_AS(cache_layout(spec), doctest::Contains("keeps no padding behind the heads"), SpecError);
}

TEST_CASE("edge: a pool without a block has views without an element in every order") {
  for (const CacheOrder order : all_cache_orders) {
    CacheTensorSpec spec = small;
    spec.order = order, spec.blocks = 0, spec.kernel_tokens = spec.tokens;
    CHECK(cache_layout(spec).num_elements() == 0);
  }
}

TEST_CASE("law: BHLNC keeps a slice per head in the same bytes under TP 1, 2, 4 and 8, LBNHC does not") {
  for (const CacheOrder order : {CacheOrder::bhlnc, CacheOrder::lbnhc, CacheOrder::blnhc}) {
    CAPTURE(to_string(order));
    CacheTensorSpec whole{.order = order, .layers = 5, .blocks = 3, .heads = 8, .tokens = 16, .content_bytes = 32,
                          .kernel_tokens = 16};
    whole.block_bytes = whole.layers * whole.dense_page_bytes();
    const Layout all = slice(cache_layout(whole), "block", 1);
    for (const std::int64_t ranks : {1, 2, 4, 8}) {
      CacheTensorSpec share = whole;
      share.heads /= ranks;
      share.block_bytes /= ranks;
      const Layout own = slice(cache_layout(share), "block", 1);
      for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const Layout part = slice(all, "head", rank * share.heads, share.heads);
        const bool same = shift(part, -part.offset()) == shift(own, -own.offset());
        CHECK(same == (ranks == 1 || order == CacheOrder::bhlnc));
        // One run of memory behind the other, by rank.
        if (order == CacheOrder::bhlnc) CHECK(part.offset() == all.offset() + rank * share.block_bytes);
      }
    }
  }
}

TEST_CASE("law: no two elements of the layers share a byte, and none leaves the allocation") {
  int made = 0;
  CHECK(rc::check("views of random layers", [&] {
    const CacheTensorSpec spec = random_spec();
    std::optional<Layout> layers;
    try {
      layers = cache_layout(spec);
    } catch (const SpecError&) {
      RC_DISCARD("refused");
    }
    ++made;
    RC_ASSERT(is_injective(*layers) == Answer::yes);
    RC_ASSERT(contains(allocated_bytes(spec), {*layers, 1, 0}));
    RC_ASSERT(layers->num_elements() ==
              spec.layers * spec.blocks * spec.heads * spec.tokens * spec.content_bytes);
  }));
  CHECK(made >= 100);
}
