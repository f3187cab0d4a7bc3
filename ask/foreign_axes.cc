#include "ask/foreign_axes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/error.h"
#include "engines/engine.h"

namespace hybridkv {

namespace {

std::string_view spelled(const SearchAxis& axis, AxisSpelling spelling) {
  return spelling == AxisSpelling::flag ? axis.flag : axis.keyword;
}

/// "--modes none,align", where the engine has not all of them.
std::string modes_text(std::string_view name, const EngineAxis& axis) {
  std::vector<std::int64_t> values(axis.values.begin(), axis.values.end());
  std::sort(values.begin(), values.end());
  if (values.size() == all_cache_modes.size()) return std::string(name);
  std::vector<std::string_view> words;
  for (const std::int64_t value : values) words.push_back(to_string(static_cast<CacheMode>(value)));
  return fmt::format("{} {}", name, fmt::join(words, ","));
}

/// Beside axes a search of blocks is told of kernels and of how much is replayed; every other space is searched whole.
std::vector<std::string_view> of_blocks_alone(const RecommendQuestion& question) {
  constexpr SearchAxis kernel_blocks{"--kernel-blocks", "kernel_blocks"};
  constexpr SearchAxis min_kernel_block{"--min-kernel-block", "min_kernel_block"};
  constexpr SearchAxis search{"--search", "search"};
  std::vector<std::string_view> names;
  if (!question.kernel_blocks.empty()) names.push_back(spelled(kernel_blocks, question.spelling));
  if (question.min_kernel_block) names.push_back(spelled(min_kernel_block, question.spelling));
  if (question.search.value_or(SearchKind::exhaustive) != SearchKind::exhaustive)
    names.push_back(spelled(search, question.spelling));
  return names;
}

std::vector<std::string> foreign_to(const Engine& engine, const RecommendQuestion& question) {
  std::vector<std::string> names;
  for (const SearchAxis* const asked : asked_axes(question.space)) {
    const std::string name(spelled(*asked, question.spelling));
    const EngineAxis* const axis = axis_of(engine, *asked);
    if (axis == nullptr) names.push_back(name);
    else if (asked == &search_axis::modes)
      for (const CacheMode mode : question.space.modes)
        if (std::find(axis->values.begin(), axis->values.end(), static_cast<std::int64_t>(mode)) == axis->values.end())
          names.push_back(fmt::format("{} {}", name, to_string(mode)));
  }
  if (engine.blocks == nullptr)
    for (const std::string_view name : of_blocks_alone(question)) names.emplace_back(name);
  return names;
}

}  // namespace

RecommendQuestion question_to(const EngineRules& rules, RecommendQuestion asked) {
  const Engine& engine = engine_of(rules);
  if (!axis_of(engine, search_axis::packs) && asked.space.packs == std::vector<std::int64_t>{1})
    asked.space.packs.clear();
  const std::vector<std::string> foreign = foreign_to(engine, asked);
  if (foreign.empty() || engine.axes.empty()) return asked;
  std::vector<std::string> own;
  for (const EngineAxis& axis : engine.axes) {
    const std::string_view name = spelled(*axis.axis, asked.spelling);
    own.push_back(axis.axis == &search_axis::modes ? modes_text(name, axis) : std::string(name));
  }
  throw InputError(fmt::format("{}: {} has no such settings to search; its space is {}{}", fmt::join(foreign, ", "),
                               rules.title, fmt::join(own, ", "), engine.blocks ? "" : ", and is searched whole"));
}

}  // namespace hybridkv
