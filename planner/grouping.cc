#include "planner/grouping.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/checked.h"
#include "planner/page_sizes.h"

namespace hybridkv {

namespace {

/// Pages of the widest group where no group may have more than `pages`: groups of a spec are filled alike.
std::int64_t widest_group(std::span<const SpecPlan> specs, std::int64_t pages) {
  std::int64_t widest = 0;
  for (const SpecPlan& spec : specs)
    if (!spec.auxiliary) widest = std::max(widest, ceil_div(spec.num_pages, ceil_div(spec.num_pages, pages)));
  return widest;
}

}  // namespace

std::int64_t pages_per_group(std::span<const SpecPlan> specs, std::optional<std::int64_t> asked,
                             const SupposedGroups& supposed, const DerivationLog& log) {
  if (supposed.exist()) {
    log.add([&] {
      return Decision{{"g", supposed.widest(), "pages per group"}, "g = the widest group that is supposed", {},
                      "engine.what_if.groups"};
    });
    return supposed.widest();
  }
  std::int64_t fewest = specs.front().num_pages;
  std::int64_t most = fewest;
  for (const SpecPlan& spec : specs) {
    if (spec.auxiliary) continue;
    fewest = std::min(fewest, spec.num_pages);
    most = std::max(most, spec.num_pages);
  }
  if (asked)
    if (const std::int64_t widest = widest_group(specs, *asked); widest < *asked)
      throw SpecError("engine.layers_per_group",
                      fmt::format("no kind of layer fills a group of {} pages (layers, or packs of them): the widest "
                                  "would have {}, and a pool would hold nothing; take {}", *asked, widest, widest));
  // most < 1.5 * fewest, in integers.
  const std::int64_t pages = asked.value_or(Checked(2) * most < Checked(3) * fewest ? most : fewest);
  log.add([&] {
    std::vector<Term> inputs;
    for (const SpecPlan& spec : specs)
      if (!spec.auxiliary)
        inputs.push_back({fmt::format("pages of spec {} ({})", spec.id, spec.kind), spec.num_pages, ""});
    return Decision{{"g", pages, "pages per group"},
                    asked ? "as set by the user" : "g = n_max if n_max < 1.5 * n_min else n_min",
                    std::move(inputs),
                    asked ? "engine.layers_per_group" : log.cite(RuleOf::groups)};
  });
  return pages;
}

std::vector<std::vector<std::int64_t>> every_nth_page(const SpecPlan& spec, std::int64_t first, std::int64_t n) {
  const auto layers = static_cast<std::int64_t>(spec.layers.size());
  std::vector<std::vector<std::int64_t>> pages;
  if (first < spec.num_pages) pages.reserve(static_cast<std::size_t>(ceil_div(spec.num_pages - first, n)));
  for (std::int64_t page = first; page < spec.num_pages; page += n) {
    const std::int64_t begin = page * spec.layers_per_page;
    pages.emplace_back(spec.layers.begin() + begin,
                       spec.layers.begin() + std::min(begin + spec.layers_per_page, layers));
  }
  return pages;
}

std::vector<GroupPlan> make_groups(std::span<const SpecPlan> specs, std::int64_t pages_per_group,
                                   std::int64_t page_bytes, const SupposedGroups& supposed,
                                   const DerivationLog& log) {
  std::vector<GroupPlan> groups;
  for (const SpecPlan& spec : specs) {
    const bool is_supposed = supposed.holds(spec);
    const std::int64_t num_groups =
        is_supposed ? std::ssize(supposed.of(spec)) : ceil_div(spec.num_pages, pages_per_group);
    const std::int64_t ids = ids_per_entry(spec, page_bytes);
    for (std::int64_t group = 0; group < num_groups; ++group) {
      GroupPlan plan{.spec = spec.id,
                     .pages = is_supposed ? in_pages_of(supposed.of(spec)[static_cast<std::size_t>(group)],
                                                        spec.layers_per_page)
                                          : every_nth_page(spec, group, num_groups),
                     .ids_per_entry = ids};
      plan.padding_positions = pages_per_group - static_cast<std::int64_t>(plan.pages.size());
      groups.push_back(std::move(plan));
    }
    const std::string symbol = fmt::format("groups of spec {} ({})", spec.id, spec.kind);
    log.add([&] {
      if (is_supposed) return Decision{{symbol, num_groups, ""}, "as supposed", {}, "engine.what_if.groups"};
      return Decision{{symbol, num_groups, ""},
                      "groups = ceil(pages / g)",
                      {{"pages", spec.num_pages, ""}, {"g", pages_per_group, ""}},
                      log.cite(RuleOf::groups)};
    });
    if (ids > 1)
      log.add([&] {
        return Decision{{"ids of an entry of " + spec_label(spec), ids, "ids"},
                        "ids = ceil(unpadded / P): a state lies in several pages",
                        {{"unpadded", spec.unpadded_page_bytes, "bytes"}, {"P", page_bytes, "bytes"}},
                        "small pages, modelled"};
      });
  }
  return groups;
}

std::vector<PoolPlan> make_pools(std::span<const GroupPlan> groups, std::int64_t pages_per_group,
                                 std::int64_t num_blocks, std::int64_t page_bytes) {
  std::vector<PoolPlan> pools(pages_per_group, {Checked(num_blocks) * page_bytes, page_bytes, {}});
  for (std::size_t page = 0; page < pools.size(); ++page) {
    std::size_t layers = 0;
    for (const GroupPlan& group : groups) layers += page < group.pages.size() ? group.pages[page].size() : 0;
    pools[page].shared_by.reserve(layers);
    for (const GroupPlan& group : groups)
      if (page < group.pages.size())
        for (const std::int64_t layer : group.pages[page]) pools[page].shared_by.push_back({group.spec, layer});
  }
  return pools;
}

}  // namespace hybridkv
