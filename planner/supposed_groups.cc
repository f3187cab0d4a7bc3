#include "planner/supposed_groups.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/checked.h"
#include "base/error.h"

namespace hybridkv {

namespace {

[[noreturn]] void refuse_groups(const std::string& why) { throw SpecError("engine.what_if.groups", why); }

/// The first few of them: "3, 7, 11 and 5 more".
std::string few_layers(const std::vector<std::int64_t>& layers) {
  constexpr std::size_t most = 8;
  const auto shown = std::span(layers).first(std::min(layers.size(), most));
  std::string text = fmt::format("{}", fmt::join(shown, ", "));
  if (layers.size() > most) text += fmt::format(" and {} more", layers.size() - most);
  return text;
}

}  // namespace

SupposedGroups::SupposedGroups(const SupposedLayout& what_if, std::span<const SpecPlan> specs) {
  if (what_if.groups.empty()) return;
  std::map<std::int64_t, const SpecPlan*> left;  // layers that no group has named
  for (const SpecPlan& spec : specs) {
    if (spec.is_indexer()) refuse_groups("names groups of a model with indexers, whose tables are not planned apart; "
                                         "leave it out");
    if (spec.draft || spec.auxiliary) continue;
    for (const std::int64_t layer : spec.layers)
      if (!left.emplace(layer, &spec).second)
        refuse_groups(fmt::format("names groups of a model whose layer {} is of two kinds; leave it out", layer));
  }
  by_spec_.resize(specs.size());
  for (const std::vector<std::int64_t>& group : what_if.groups) {
    if (group.empty()) refuse_groups("has a group without a layer; leave it out");
    const SpecPlan* kind = nullptr;
    for (const std::int64_t layer : group) {
      const auto found = left.find(layer);
      if (found == left.end())
        refuse_groups(fmt::format("names layer {} twice, or one that caches nothing; name each layer that does once",
                                  layer));
      if (kind != nullptr && kind != found->second)
        refuse_groups(fmt::format("has layer {} ({}) and layer {} ({}) in one group; the layers of a group are of one "
                                  "kind", group.front(), kind->kind, layer, found->second->kind));
      kind = found->second;
      left.erase(found);
    }
    by_spec_[static_cast<std::size_t>(kind->id)].push_back(group);
    widest_ = std::max(widest_, ceil_div(std::ssize(group), kind->layers_per_page));
  }
  if (left.empty()) return;
  std::vector<std::int64_t> missing;
  for (const auto& [layer, spec] : left) missing.push_back(layer);
  refuse_groups(fmt::format("names no group for {} {}; name each layer that caches something once",
                            missing.size() == 1 ? "layer" : "layers", few_layers(missing)));
}

std::vector<std::vector<std::int64_t>> in_pages_of(std::span<const std::int64_t> layers, std::int64_t layers_per_page) {
  std::vector<std::vector<std::int64_t>> pages;
  const auto per_page = static_cast<std::size_t>(layers_per_page);
  for (std::size_t begin = 0; begin < layers.size(); begin += per_page) {
    const auto page = layers.subspan(begin, std::min(per_page, layers.size() - begin));
    pages.emplace_back(page.begin(), page.end());
  }
  return pages;
}

}  // namespace hybridkv
