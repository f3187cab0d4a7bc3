#include "attention/cache_layout.h"

#include <fmt/format.h>

#include <algorithm>

#include "layout/permute.h"
#include "layout/repeat.h"
#include "layout/stretch.h"

namespace hybridkv {

namespace {

constexpr const char* order_key = "engine.physical_order";

bool spreads_heads(CacheOrder order) { return order == CacheOrder::lhbnc || order == CacheOrder::bhlnc; }

/// In the order in which the engine does.
void check_kernel_blocks(const CacheTensorSpec& spec) {
  if (spec.kernel_tokens < 1 || spec.tokens % spec.kernel_tokens != 0)
    throw SpecError("engine.kernel_block_sizes",
                    fmt::format("a kernel block of {} tokens does not divide the block of {} tokens",
                                spec.kernel_tokens, spec.tokens));
  const std::int64_t dense = spec.dense_page_bytes();
  if (spec.padded_page_bytes && spec.kernel_tokens != spec.tokens)
    throw SpecError("engine.kernel_block_sizes",
                    fmt::format("the padded page of {} bytes ({} used) is not split into kernel blocks of {} tokens; "
                                "use a kernel block equal to the block ({} tokens)",
                                *spec.padded_page_bytes, dense, spec.kernel_tokens, spec.tokens));
  if (spec.padded_page_bytes && spec.heads > 1 && spreads_heads(spec.order))
    throw SpecError(order_key,
                    fmt::format("{} keeps no padding behind the heads of a page of {} bytes ({} used); take LBNHC, "
                                "LBHNC, BLNHC or BLHNC",
                                to_string(spec.order), *spec.padded_page_bytes, dense));
}

/// Blocks are split where they are dense pages, one behind the other.
void check_split(const CacheTensorSpec& spec, std::int64_t block_stride) {
  if (spec.kernel_tokens == spec.tokens) return;
  const std::int64_t dense = spec.dense_page_bytes();
  if (block_stride != dense)
    throw SpecError(order_key,
                    fmt::format("{} does not keep blocks as dense pages one behind the other (from one to the next are "
                                "{} bytes, a page has {}), so a block is not split into {} kernel blocks of {} tokens; "
                                "take a block of {} tokens, or an order with the layers outermost, like LBNHC",
                                to_string(spec.order), block_stride, dense, spec.tokens / spec.kernel_tokens,
                                spec.kernel_tokens, spec.kernel_tokens));
  if (spec.order == CacheOrder::bhlnc && spec.layers == 1 && spec.heads > 1)
    throw SpecError(order_key,
                    fmt::format("BHLNC with one layer and {} heads: the engine splits the blocks, but steps from head "
                                "to head as over whole blocks ({} bytes), so that its view leaves the pool; take a "
                                "block of {} tokens, or another order",
                                spec.heads, std::int64_t(Checked(spec.tokens) * spec.content_bytes),
                                spec.kernel_tokens));
}

/// What a head takes of a page where heads are outside the layers or the blocks: of one head all of it, padding too.
std::int64_t head_bytes(const CacheTensorSpec& spec) { return spec.page_bytes() / spec.heads; }

/// Bytes from one block to the next, before any is split.
std::int64_t block_stride_of(const CacheTensorSpec& spec) {
  switch (spec.order) {
    case CacheOrder::lbhnc:
    case CacheOrder::lbnhc: return spec.page_bytes();
    case CacheOrder::lhbnc: return head_bytes(spec);
    case CacheOrder::blhnc:
    case CacheOrder::blnhc:
    case CacheOrder::bhlnc: return spec.block_bytes;
  }
  throw std::logic_error("an order outside its enumeration");
}

/// The axes inside a block of one layer, outermost first.
Layout dense_page(const CacheTensorSpec& spec) {
  const Axis head{"head", spec.heads}, token{"token", spec.kernel_tokens}, byte{"byte", spec.content_bytes};
  const bool token_first = spec.order == CacheOrder::lbnhc || spec.order == CacheOrder::blnhc;
  return token_first ? row_major({token, head, byte}) : row_major({head, token, byte});
}

}  // namespace

Layout cache_layout(const CacheTensorSpec& spec) {
  const std::int64_t page_bytes = spec.page_bytes();
  expects(page_bytes >= spec.dense_page_bytes(), "a page holds its heads and tokens");
  check_kernel_blocks(spec);
  const std::int64_t whole_stride = block_stride_of(spec);
  check_split(spec, whole_stride);
  const std::int64_t parts = spec.tokens / spec.kernel_tokens;
  const std::int64_t stride = whole_stride / parts, blocks = Checked(spec.blocks) * parts;
  const std::int64_t stepped = std::max<std::int64_t>(spec.blocks, 1);  // also where there are none
  Layout page = dense_page(spec);
  std::int64_t layer_stride = page_bytes;
  switch (spec.order) {
    case CacheOrder::lbhnc:
    case CacheOrder::lbnhc: layer_stride = Checked(spec.blocks) * page_bytes; break;
    case CacheOrder::lhbnc:
      page = stretch(page, "head", Checked(stepped) * head_bytes(spec));
      layer_stride = Checked(spec.blocks) * page_bytes;
      break;
    case CacheOrder::blhnc:
    case CacheOrder::blnhc: break;
    case CacheOrder::bhlnc:
      page = stretch(page, "head", Checked(spec.layers) * head_bytes(spec));
      layer_stride = head_bytes(spec);
      break;
  }
  const Layout all = repeat(repeat(page, {"block", blocks, stride}), {"layer", spec.layers, layer_stride});
  return permute(all, {"layer", "block", "head", "token", "byte"});
}

}  // namespace hybridkv
