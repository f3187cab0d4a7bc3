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

std::optional<std::int64_t> large_page_bytes(std::span<const SpecPlan> specs, const EngineSpec& engine) {
  std::vector<std::int64_t> sizes;
  for (const SpecPlan& spec : specs) sizes.push_back(small_page_bytes(spec, engine));
  return common_multiple(sizes, no_limit);
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
  for (const SpecPlan& spec : specs) {
    if (spec.state) state = std::max(state, small_page_bytes(spec, engine));
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
    const auto large = large_page_bytes(with_block(specs, block), engine);
    if (large && *large < best.large_page) best = {block, *large};
  }
  return best;
}

/// Pages that are multiples of the small pages of attention, so that states are whole numbers of them.
PageCandidate padded_states(std::span<const SpecPlan> specs, const EngineSpec& engine) {
  std::vector<std::int64_t> sizes{engine.page_alignment_bytes};
  for (const SpecPlan& spec : specs)
    if (spec.attention) sizes.push_back(small_page_bytes(spec, engine));
  const auto alignment = common_multiple(sizes, no_limit);
  if (sizes.size() == 1 || !alignment) return {};
  EngineSpec padded = engine;
  padded.page_alignment_bytes = *alignment;
  return {*alignment, large_page_bytes(specs, padded).value_or(no_limit)};
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

std::int64_t small_page_bytes(const SpecPlan& spec, const EngineSpec& engine) {
  return Checked(spec.num_pages) * exact_page_bytes(spec, exact_unit({&spec, 1}, engine));
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
