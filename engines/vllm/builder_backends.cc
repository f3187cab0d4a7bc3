#include "engines/vllm/builder_backends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "planner/allocated_tensors.h"
#include "planner/backend_profile.h"
#include "planner/primary_attention.h"

namespace hybridkv {

namespace {

constexpr std::string_view package = "vllm.";

bool takes_whole(const KernelBlocks& blocks, std::int64_t tokens) {
  if (blocks.listed.empty()) return tokens % blocks.smallest == 0;
  return std::find(blocks.listed.begin(), blocks.listed.end(), tokens) != blocks.listed.end();
}

/// Do the blocks of a layer follow each other, without padding or another layer's page between them?
bool can_be_split(const CachePlan& plan, const SpecPlan& spec) {
  return std::all_of(plan.groups.begin(), plan.groups.end(), [&](const GroupPlan& group) {
    return group.spec != spec.id || group.pages.empty() ||
           allocated_tensor(plan, group).block_stride == spec.bytes_of_tokens(spec.block_size_tokens);
  });
}

std::string blocks_words(const KernelBlocks& blocks, const CachePlan& plan, const SpecPlan& spec) {
  const std::int64_t tokens = spec.block_size_tokens;
  const std::string has = blocks.listed.empty() ? fmt::format("multiples of {}", blocks.smallest)
                                                : fmt::format("{}", fmt::join(blocks.listed, ", "));
  if (takes_whole(blocks, tokens)) return fmt::format("takes {} ({})", tokens, has);
  const auto divides = [&](std::int64_t size) { return tokens % size == 0; };
  const bool some = blocks.listed.empty() ? divides(blocks.smallest)
                                          : std::any_of(blocks.listed.begin(), blocks.listed.end(), divides);
  if (some && can_be_split(plan, spec)) return fmt::format("splits {} ({})", tokens, has);
  return fmt::format("**no**: {} in place of {}{}", tokens, has,
                     some ? ", and blocks that do not follow each other are not split" : "");
}

}  // namespace

std::string table_of_backends(const CachePlan& plan) {
  const SpecPlan& spec = *primary_attention(plan);
  const bool latent = is_latent(spec.attention->kind);
  std::string table = fmt::format("| backend | of profile | order {} | blocks of {} tokens |\n|---|---|---|---|\n",
                                  to_string(*plan.cache_order), spec.block_size_tokens);
  for (const BackendProfile profile : all_backend_profiles) {
    const ProfileFacts& facts = facts_of(profile);
    if (facts.without_latents && !latent) continue;  // of latents alone
    const bool reads = std::find(facts.orders.begin(), facts.orders.end(), *plan.cache_order) != facts.orders.end();
    std::vector<std::string_view> orders;
    for (const CacheOrder order : facts.orders) orders.push_back(to_string(order));
    table += fmt::format("| {} | {} | {} | {} |\n", facts.backend, to_string(profile),
                         reads ? "declared" : fmt::format("**no**: {}", fmt::join(orders, ", ")),
                         blocks_words(latent ? facts.latents : facts.attention, plan, spec));
  }
  table.pop_back();
  return table;
}

std::string list_of_kernels(const std::vector<KernelFit>& kernels) {
  std::vector<std::string> lines;
  for (const KernelFit& fit : kernels)
    if (fit.kernel.starts_with(package) && fit.verdict != KernelVerdict::not_used)
      lines.push_back("- " + kernel_headline(fit));
  return lines.empty() ? "- None was checked." : fmt::format("{}", fmt::join(lines, "\n"));
}

std::string steps_of_kernels(const CachePlan& plan) {
  const SpecPlan& spec = *primary_attention(plan);
  const auto group = std::find_if(plan.groups.begin(), plan.groups.end(),
                                  [&](const GroupPlan& one) { return one.spec == spec.id && !one.pages.empty(); });
  const AllocatedTensor tensor = allocated_tensor(plan, *group);
  return fmt::format("{} bytes from one block of a layer to the next, {} from one layer to the next, {} bytes of a "
                     "layer's own in a block of {} tokens", tensor.block_stride, tensor.layer_stride,
                     spec.bytes_of_tokens(spec.block_size_tokens), spec.block_size_tokens);
}

}  // namespace hybridkv
