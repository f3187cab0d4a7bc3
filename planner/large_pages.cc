#include "planner/large_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/bytes_text.h"
#include "base/checked.h"
#include "planner/block_size.h"
#include "planner/exact_pages.h"

namespace hybridkv {

namespace {

constexpr std::int64_t no_limit = std::numeric_limits<std::int64_t>::max();

/// The specs with attention in blocks of that many tokens.
std::vector<SpecPlan> with_block(std::span<const SpecPlan> specs, std::int64_t block) {
  std::vector<SpecPlan> sized(specs.begin(), specs.end());
  for (SpecPlan& spec : sized)
    if (spec.attention) spec.unpadded_page_bytes = Checked(spec.layers_per_page) * block * spec.bytes_per_token;
  return sized;
}

/// A tensor without elements, as of a convolution of one tap, would be a kind without bytes: it goes with the rest.
bool has_pages_by_tensor(const SpecPlan& spec) {
  if (!spec.state || spec.state->tensors.size() == 1) return false;
  return std::all_of(spec.state->tensors.begin(), spec.state->tensors.end(),
                     [](const StateTensor& tensor) { return tensor.bytes() > 0; });
}

bool is_allowed(std::int64_t block, const DeclaredBlocks& declared) {
  return declared.listed.empty() ? block % declared.smallest == 0
                                 : std::any_of(declared.listed.begin(), declared.listed.end(),
                                               [&](std::int64_t kernel) { return block % kernel == 0; });
}

struct PageCandidate {
  std::int64_t value = 0;
  std::int64_t large_page = no_limit;
};

/// The block with the smallest large pages.
PageCandidate best_block(std::span<const SpecPlan> specs, const EngineSpec& engine) {
  constexpr std::int64_t most_candidates = 4096;
  std::int64_t state = 0, token = no_limit;
  bool latent = false;
  for (const SmallPage& page : small_pages(specs, engine))
    if (specs[static_cast<std::size_t>(page.spec)].state) state = std::max(state, page.bytes);
  for (const SpecPlan& spec : specs) {
    if (!spec.attention) continue;
    token = std::min(token, std::int64_t(Checked(spec.num_pages) * spec.layers_per_page * spec.bytes_per_token));
    latent = latent || is_latent(spec.attention->kind);
  }
  const DeclaredBlocks declared = declared_blocks(engine, latent);
  PageCandidate best;
  for (std::int64_t i = 1; i <= most_candidates; ++i) {
    const std::int64_t block = Checked(declared.smallest) * i;
    if (block > largest_tokens || (i > 1 && block > state / token)) break;
    if (!is_allowed(block, declared)) continue;
    const auto large = large_page_bytes(small_pages(with_block(specs, block), engine));
    if (large && *large < best.large_page) best = {block, *large};
  }
  return best;
}

/// Pages that are multiples of the small pages of attention, so that states are whole numbers of them.
PageCandidate padded_states(std::span<const SpecPlan> specs, const EngineSpec& engine) {
  std::vector<std::int64_t> sizes{engine.page_alignment_bytes};
  for (const SmallPage& page : small_pages(specs, engine))
    if (specs[static_cast<std::size_t>(page.spec)].attention) sizes.push_back(page.bytes);
  const auto alignment = common_multiple(sizes, no_limit);
  if (sizes.size() == 1 || !alignment) return {};
  EngineSpec padded = engine;
  padded.page_alignment_bytes = *alignment;
  return {*alignment, large_page_bytes(small_pages(specs, padded)).value_or(no_limit)};
}

}  // namespace

std::optional<std::int64_t> common_multiple(std::span<const std::int64_t> sizes, std::int64_t most) {
  std::int64_t common = 1;
  for (const std::int64_t size : sizes) {
    const std::int64_t more = size / std::gcd(size, common);
    if (more > most / common) return std::nullopt;
    common *= more;
  }
  return common;
}

std::vector<SmallPage> small_pages(std::span<const SpecPlan> specs, const EngineSpec& engine) {
  std::vector<SmallPage> pages;
  const auto add = [&](const SpecPlan& spec, std::optional<std::int64_t> tensor, std::int64_t page) {
    pages.push_back({spec.id, tensor, page, Checked(spec.num_pages) * page});
  };
  for (const SpecPlan& spec : specs) {
    if (!has_pages_by_tensor(spec)) {
      add(spec, std::nullopt, exact_page_bytes(spec, exact_unit({&spec, 1}, engine)));
      continue;
    }
    for (std::int64_t i = 0; i < std::ssize(spec.state->tensors); ++i) {
      const StateTensor& tensor = spec.state->tensors[static_cast<std::size_t>(i)];
      add(spec, i, round_up(tensor.bytes(), checked_lcm(engine.page_alignment_bytes, element_bytes(tensor.dtype))));
    }
  }
  return pages;
}

std::optional<std::int64_t> large_page_bytes(std::span<const SmallPage> pages) {
  std::vector<std::int64_t> sizes;
  for (const SmallPage& page : pages) sizes.push_back(page.bytes);
  return common_multiple(sizes, no_limit);
}

std::string small_page_label(const SpecPlan& spec, std::optional<std::int64_t> tensor) {
  if (!tensor) return spec_label(spec);
  return spec.state->tensors[static_cast<std::size_t>(*tensor)].name + ", " + spec_label(spec);
}

std::string smaller_large_pages(std::span<const SpecPlan> specs, std::optional<std::int64_t> bytes,
                                const EngineSpec& engine) {
  const auto text = [&](const char* key, const PageCandidate& candidate) {
    return candidate.large_page < bytes.value_or(no_limit)
               ? fmt::format("{} {} makes large pages of {}", key, candidate.value, bytes_text(candidate.large_page))
               : std::string();
  };
  const std::string block = text("engine.block_size_tokens", best_block(specs, engine));
  const std::string padded = text("engine.page_alignment_bytes", padded_states(specs, engine));
  return block.empty() || padded.empty() ? block + padded : block + ", " + padded;
}

}  // namespace hybridkv
