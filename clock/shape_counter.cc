#include "clock/shape_counter.h"

#include <algorithm>
#include <cmath>

namespace hybridkv {

namespace {

/// Which quarter more a number is: 0, then 1, 1.25, 1.56 …
int step_of(double number) {
  constexpr double quarter = 1.25;
  return number < 1 ? 0 : 1 + static_cast<int>(std::lround(std::log(number) / std::log(quarter)));
}

struct PartSum {
  double requests = 0, tokens = 0, context = 0;
  void add(const ShapePart& part) {
    const auto count = static_cast<double>(part.count);
    requests += count;
    tokens += count * static_cast<double>(part.query);
    context += count * static_cast<double>(part.context);
  }
  double mean_context() const { return requests > 0 ? context / requests : 0; }
};

/// Those who generate as so many with their mean context, and equal prompts once.
std::vector<ShapePart> joined(const std::vector<ShapePart>& parts) {
  PartSum decodes;
  std::int64_t drafts = 0;
  std::vector<ShapePart> shape;
  for (const ShapePart& part : parts) {
    if (part.decodes()) {
      decodes.add(part);
      drafts = std::max(drafts, part.drafts);
      continue;
    }
    const auto same = std::find_if(shape.begin(), shape.end(), [&](ShapePart known) {
      known.count = part.count;
      return known == part;
    });
    if (same == shape.end()) shape.push_back(part);
    else same->count += part.count;
  }
  if (decodes.requests > 0)
    shape.insert(shape.begin(), {.query = 1 + drafts,
                                 .context = std::llround(decodes.mean_context()),
                                 .drafts = drafts,
                                 .count = std::llround(decodes.requests)});
  return shape;
}

}  // namespace

void ShapeCounter::add(std::vector<ShapePart> parts) {
  if (parts.empty()) return;
  PartSum decodes, prompts;
  for (const ShapePart& part : parts) (part.decodes() ? decodes : prompts).add(part);
  const Kind kind{step_of(decodes.requests), step_of(decodes.mean_context()), step_of(prompts.requests),
                  step_of(prompts.tokens), step_of(prompts.mean_context())};
  auto known = kinds_.find(kind);
  if (known == kinds_.end()) {
    if (kinds_.size() == most_kinds) return;
    known = kinds_.emplace(kind, Counted{.first = joined(parts)}).first;
  }
  const double seconds = clock_.seconds(forward_batch({.name = {}, .parts = std::move(parts)}, clock_.windows()));
  known->second.seconds += seconds;
  known->second.longest = std::max(known->second.longest, seconds);
}

std::vector<StepShape> ShapeCounter::most(std::size_t number) const {
  std::vector<const Counted*> all;
  for (const auto& [kind, counted] : kinds_) all.push_back(&counted);
  std::stable_sort(all.begin(), all.end(), [](const Counted* a, const Counted* b) { return a->seconds > b->seconds; });
  const auto longest = std::max_element(all.begin(), all.end(), [](const Counted* a, const Counted* b) {
    return a->longest < b->longest;
  });
  std::vector<const Counted*> chosen = all;
  chosen.resize(std::min(number, all.size()));
  if (longest != all.end() && std::find(chosen.begin(), chosen.end(), *longest) == chosen.end())
    chosen.push_back(*longest);
  std::vector<StepShape> shapes;
  for (const Counted* counted : chosen) shapes.push_back({shape_name(counted->first), counted->first});
  return shapes;
}

std::vector<StepShape> telling_shapes(std::int64_t most_running, std::int64_t longest, std::int64_t drafts) {
  std::vector<StepShape> shapes;
  const auto add = [&](const std::vector<ShapePart>& parts) {
    for (const ShapePart& part : parts)
      if (part.count > most_running || part.query + part.context > longest) return;
    shapes.push_back({shape_name(parts), parts});
  };
  const auto decode = [&](std::int64_t context, std::int64_t count) {
    return ShapePart{.query = 1 + drafts, .context = context, .drafts = drafts, .count = count};
  };
  for (const std::int64_t context : {1024, 8192})
    for (const std::int64_t count : {1, 4, 16, 64, 256}) add({decode(context, count)});
  for (const std::int64_t context : {0, 8192, 65536})
    for (const std::int64_t tokens : {128, 512, 2048, 8192})
      add({{.query = tokens, .context = context, .found = context > 0}});
  add({decode(1024, 16), {.query = 2048}});
  return shapes;
}

}  // namespace hybridkv
