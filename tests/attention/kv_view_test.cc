#include "attention/kv_view.h"

#include <doctest/doctest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/error.h"
#include "test_paths.h"
#include "tests/attention/published_strides.h"

namespace hybridkv {
namespace {

using testing::spec_of_row;
using Numbers = std::vector<std::int64_t>;

Numbers extents(const Layout& layout) {
  Numbers result;
  for (const Axis& axis : layout.axes()) result.push_back(axis.extent);
  return result;
}

Numbers strides(const Layout& layout) {
  Numbers result;
  for (const Axis& axis : layout.axes()) result.push_back(axis.stride);
  return result;
}

Numbers offsets(const std::vector<Layout>& layers) {
  Numbers result;
  for (const Layout& layer : layers) result.push_back(layer.offset());
  return result;
}

TEST_CASE("golden: shapes, strides and offsets of all 340 published packed views") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/strides.jsonl");
  int rows = 0;
  for (std::string line; std::getline(file, line); ++rows) {
    CAPTURE(line);
    const auto row = nlohmann::json::parse(line);
    const std::vector<Layout> layers = kv_layouts(spec_of_row(row));
    CHECK(offsets(layers) == row["storage_offsets"].get<Numbers>());
    for (const Layout& layer : layers) {
      CHECK(extents(layer) == row["logical_shape"].get<Numbers>());
      CHECK(strides(layer) == row["strides"].get<Numbers>());
    }
    CHECK((layers[0][1].name == AxisName("block")) == (row["block_dim"] == 1));
  }
  CHECK(rows == 340);
}

TEST_CASE("fault: another order, pack or page gives other strides than the published ones") {
  std::ifstream file(HYBRIDKV_TEST_DATA "/strides.jsonl");
  std::string line;
  do {
    CHECK(std::getline(file, line));
  } while (line.find("FlashInfer") == std::string::npos);
  const auto row = nlohmann::json::parse(line);
  KvViewSpec spec = spec_of_row(row);
  const Numbers published = row["strides"].get<Numbers>();
  spec.order = spec.order == PhysicalOrder::hnd ? PhysicalOrder::nhd : PhysicalOrder::hnd;
  CHECK(strides(kv_layouts(spec)[0]) != published);
  spec = spec_of_row(row);
  spec.page_bytes *= 2;
  CHECK(strides(kv_layouts(spec)[0]) != published);
}

TEST_CASE("golden: the worked example, five layers of Qwen3.5-397B at TP2") {
  const KvViewSpec spec{.num_blocks = 7, .block_size_tokens = 432, .kernel_block_size_tokens = 432, .kv_heads = 1,
                        .head_size_k = 256, .head_size_v = 256, .pack_size = 5, .page_bytes = 2'211'840};
  const std::vector<Layout> layers = kv_layouts(spec);
  CHECK(extents(layers[0]) == Numbers{7, 2, 432, 1, 256});
  CHECK(strides(layers[0]) == Numbers{1105920, 110592, 256, 256, 1});
  CHECK(offsets(layers) == Numbers{0, 221184, 442368, 663552, 884736});
  KvViewSpec split = spec;
  split.kernel_block_size_tokens = 16;
  CHECK(strides(kv_layouts(split)[0]) == Numbers{40960, 4096, 256, 256, 1});
  CHECK(offsets(kv_layouts(split)) == Numbers{0, 8192, 16384, 24576, 32768});
}

TEST_CASE("golden: head-major strides are N*K, N*2*b*d, b*d, d, 1, the layer i*2*b*d") {
  const std::int64_t n = 3, b = 16, h = 4, d = 8, k = 2 * b * h * d;
  for (const BackendForm form : {BackendForm::paged, BackendForm::kv_first}) {
    const std::vector<Layout> layers =
        kv_layouts({.form = form, .order = PhysicalOrder::head_major, .dtype = DType::bf16, .num_blocks = 5,
                    .block_size_tokens = 32, .kernel_block_size_tokens = b, .kv_heads = h, .head_size_k = d,
                    .head_size_v = d, .pack_size = n, .page_bytes = n * 2 * k * 2});
    CHECK(layers[0].stride("block") == n * k);
    CHECK(layers[0].stride("head") == n * 2 * b * d);
    CHECK(layers[0].stride("kv") == b * d);
    CHECK(layers[0].stride("token") == d);
    CHECK(layers[0].stride("channel") == 1);
    CHECK(offsets(layers) == Numbers{0, 2 * b * d, 4 * b * d});
  }
  const std::vector<Layout> latent =
      kv_layouts({.form = BackendForm::mla, .order = PhysicalOrder::head_major, .dtype = DType::bf16, .num_blocks = 5,
                  .block_size_tokens = b, .kernel_block_size_tokens = b, .kv_heads = 1, .head_size_k = d,
                  .pack_size = 2, .page_bytes = 2 * b * d * 2});
  CHECK(strides(latent[0]) == Numbers{2 * b * d, d, 1});
  CHECK(offsets(latent) == Numbers{0, b * d});
}

TEST_CASE("golden: a padded page shares its padding out over layers and kernel blocks") {
  // 2 layers of 4 tokens, 1 head of 2, fp32: 128 bytes used of 160.
  KvViewSpec spec{.dtype = DType::fp32, .num_blocks = 3, .block_size_tokens = 4, .kernel_block_size_tokens = 4,
                  .kv_heads = 1, .head_size_k = 2, .head_size_v = 2, .pack_size = 2, .page_bytes = 160};
  CHECK(kv_layouts(spec)[0].stride("block") == 40);
  CHECK(offsets(kv_layouts(spec)) == Numbers{0, 20});
  spec.kernel_block_size_tokens = 2;
  CHECK(kv_layouts(spec)[0].stride("block") == 20);
  CHECK(offsets(kv_layouts(spec)) == Numbers{0, 10});
}

/// A random view over a small pool, of any form and order that takes it.
KvViewSpec random_spec() {
  KvViewSpec spec;
  spec.form = *rc::gen::element(BackendForm::paged, BackendForm::flex, BackendForm::cpu, BackendForm::diff_kv,
                                BackendForm::kv_first, BackendForm::kv_first_unordered, BackendForm::mla);
  const bool has_head_major =
      spec.form == BackendForm::paged || spec.form == BackendForm::kv_first || spec.form == BackendForm::mla;
  spec.order = *rc::gen::element(PhysicalOrder::nhd, PhysicalOrder::hnd,
                                 has_head_major ? PhysicalOrder::head_major : PhysicalOrder::nhd);
  spec.dtype = *rc::gen::element(DType::fp32, DType::bf16, DType::fp8_e4m3);
  spec.num_blocks = *rc::gen::inRange<std::int64_t>(1, 4);
  spec.kernel_block_size_tokens = *rc::gen::inRange<std::int64_t>(1, 5);
  spec.block_size_tokens = spec.kernel_block_size_tokens * *rc::gen::inRange<std::int64_t>(1, 4);
  spec.pack_size = *rc::gen::inRange<std::int64_t>(1, 5);
  spec.kv_heads = spec.form == BackendForm::mla ? 1 : *rc::gen::inRange<std::int64_t>(1, 4);
  spec.head_size_k = spec.head_size_v = *rc::gen::inRange<std::int64_t>(1, 5);
  if (spec.form == BackendForm::cpu || spec.form == BackendForm::diff_kv)
    spec.head_size_v = *rc::gen::inRange<std::int64_t>(1, 5);
  const std::int64_t channels = spec.head_size_k + (spec.form == BackendForm::mla ? 0 : spec.head_size_v);
  const std::int64_t element = element_bytes(spec.dtype);
  const std::int64_t grain = spec.pack_size * (spec.block_size_tokens / spec.kernel_block_size_tokens) * element;
  spec.page_bytes = spec.pack_size * spec.block_size_tokens * spec.kv_heads * channels * element +
                    grain * *rc::gen::inRange<std::int64_t>(0, 4);
  return spec;
}

/// Calls `visit(offset, kernel block)` for every element of a layout, by counting through its indices.
template <class Visitor>
void for_each_element(const Layout& layout, Visitor visit) {
  std::vector<std::int64_t> index(layout.rank());
  for (std::int64_t i = 0; i < layout.num_elements(); ++i) {
    std::int64_t rest = i;
    for (int axis = layout.rank(); axis-- > 0; rest /= layout[axis].extent) index[axis] = rest % layout[axis].extent;
    visit(layout.at(index), index[layout.find("block")]);
  }
}

/// Whether every element of every layer has an address of its own, inside the page of its block.
bool layers_are_disjoint_and_inside(const KvViewSpec& spec, const std::vector<Layout>& layers) {
  const std::int64_t page_elements = spec.page_bytes / element_bytes(spec.dtype);
  const std::int64_t kernel_blocks = spec.block_size_tokens / spec.kernel_block_size_tokens;
  std::vector<bool> taken(page_elements * spec.num_blocks);
  bool good = true;
  for (const Layout& layer : layers) {
    for_each_element(layer, [&](std::int64_t offset, std::int64_t kernel_block) {
      good = good && offset / page_elements == kernel_block / kernel_blocks && !taken[offset];
      if (good) taken[offset] = true;
    });
  }
  return good;
}

TEST_CASE("law: the layers of a pack are injective, disjoint and inside their page") {
  CHECK(rc::check("every element has an address of its own", [] {
    const KvViewSpec spec = random_spec();
    const std::vector<Layout> layers = kv_layouts(spec);
    RC_ASSERT(static_cast<std::int64_t>(layers.size()) == spec.pack_size);
    RC_ASSERT(layers_are_disjoint_and_inside(spec, layers));
  }));
}

TEST_CASE("law: K and V cover the elements of a layer, each once, and V of a latent is its first channels") {
  CHECK(rc::check("K and V", [] {
    const KvViewSpec spec = random_spec();
    for (const Layout& layer : kv_layouts(spec)) {
      const auto [key, value] = key_value_layouts(spec.form, layer, spec.head_size_k, spec.head_size_v);
      Numbers whole, halves;
      for_each_element(layer, [&](std::int64_t offset, std::int64_t) { whole.push_back(offset); });
      for_each_element(key, [&](std::int64_t offset, std::int64_t) { halves.push_back(offset); });
      if (spec.form == BackendForm::mla) {
        RC_ASSERT(key.offset() == value.offset());
      } else {
        for_each_element(value, [&](std::int64_t offset, std::int64_t) { halves.push_back(offset); });
      }
      std::sort(whole.begin(), whole.end());
      std::sort(halves.begin(), halves.end());
      RC_ASSERT(whole == halves);
      RC_ASSERT(extents(key) == Numbers({layer.extent("block"), spec.kernel_block_size_tokens, spec.kv_heads,
                                         spec.head_size_k}));
      RC_ASSERT(value.extent("channel") == spec.head_size_v);
      RC_ASSERT(key.stride("channel") == 1);
    }
  }));
}

TEST_CASE("fault: an aliased layer, a view beyond its page and a wrong block stride are seen") {
  const KvViewSpec spec{.num_blocks = 2, .block_size_tokens = 4, .kernel_block_size_tokens = 2, .kv_heads = 2,
                        .head_size_k = 2, .head_size_v = 2, .pack_size = 2, .page_bytes = 128};
  const std::vector<Layout> good = kv_layouts(spec);
  CHECK(layers_are_disjoint_and_inside(spec, good));
  // The pack index counted in the wrong list: both layers are the first.
  CHECK_FALSE(layers_are_disjoint_and_inside(spec, {good[0], good[0]}));
  // Layers one after the other instead of interleaved per kernel block.
  CHECK_FALSE(layers_are_disjoint_and_inside(spec, {good[0], Layout(good[1].axes(), 32)}));
  // Strides taken from the shape (2, blocks, …).
  KvViewSpec first = spec;
  first.form = BackendForm::kv_first;
  const Layout kv_first = kv_layouts(first)[0];
  std::vector<Axis> axes(kv_first.axes().begin(), kv_first.axes().end());
  std::swap(axes[0].stride, axes[1].stride);
  CHECK_FALSE(layers_are_disjoint_and_inside(spec, {Layout(axes, 0), Layout(axes, 16)}));
}

TEST_CASE("edge: views that do not exist are refused with the field and a way out") {
  const KvViewSpec good{.num_blocks = 3, .block_size_tokens = 48, .kernel_block_size_tokens = 16, .kv_heads = 2,
                        .head_size_k = 64, .head_size_v = 64, .pack_size = 2, .page_bytes = 2 * 48 * 2 * 128 * 2};
  CHECK_NOTHROW(kv_layouts(good));
  const auto refused = [&](const char* path, const char* message, auto change) {
    KvViewSpec spec = good;
    change(spec);
    CAPTURE(message);
    try {
      kv_layouts(spec);
      FAIL_CHECK("accepted");
    } catch (const SpecError& error) {
      CHECK(error.path() == path);
      CHECK_MESSAGE(error.message().find(message) != std::string::npos, error.message());
    }
  };
  refused("engine.kernel_block_sizes", "a kernel block of 32 tokens does not divide the block of 48 tokens",
          [](auto& spec) { spec.kernel_block_size_tokens = 32; });
  refused("engine.kernel_block_sizes", "a kernel block of 0 tokens",
          [](auto& spec) { spec.kernel_block_size_tokens = 0; });
  refused("engine.kernel_block_sizes", "49156 bytes (49152 used) does not divide into 3 kernel blocks of 16 tokens",
          [](auto& spec) { spec.page_bytes += 4; });
  refused("engine.attention_pack_size", "a page of 49148 bytes does not hold 2 layers of 24576 bytes",
          [](auto& spec) { spec.page_bytes -= 4; });
  refused("engine.attention_pack_size", "does not divide into 1 kernel blocks of 48 tokens times 2 layers",
          [](auto& spec) { spec.page_bytes += 2, spec.kernel_block_size_tokens = 48; });
  refused("engine.backend_form", "form paged keeps K and V in equal slices, but the head sizes are 64 and 32",
          [](auto& spec) { spec.head_size_v = 32; });
  for (const BackendForm form :
       {BackendForm::flex, BackendForm::cpu, BackendForm::diff_kv, BackendForm::kv_first_unordered})
    refused("engine.physical_order", "has no head-major order; use it with paged, kv_first or mla", [&](auto& spec) {
      spec.form = form;
      spec.order = PhysicalOrder::head_major;
    });
  KvViewSpec huge = good;
  huge.head_size_k = huge.head_size_v = std::int64_t{1} << 60;
  CHECK_THROWS_WITH_AS(kv_layouts(huge), doctest::Contains("too large for 64 bits"), InputError);
}

TEST_CASE("law: names of forms and orders are read back") {
  for (const auto form : {BackendForm::paged, BackendForm::flex, BackendForm::cpu, BackendForm::diff_kv,
                          BackendForm::kv_first, BackendForm::kv_first_unordered, BackendForm::mla})
    CHECK(parse_backend_form(to_string(form)) == form);
  for (const auto order : {PhysicalOrder::nhd, PhysicalOrder::hnd, PhysicalOrder::head_major})
    CHECK(parse_physical_order(to_string(order)) == order);
  CHECK_FALSE(parse_backend_form("Paged"));
  CHECK_FALSE(parse_physical_order("dhn"));
}

}  // namespace
}  // namespace hybridkv
