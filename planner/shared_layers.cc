#include "planner/shared_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <set>

namespace hybridkv {

namespace {

/// "layer 3", "layers 18 and 19", "layers 20 to 29, 31 and 33": runs of three and more by their ends.
std::string layers_text(const std::set<std::int64_t>& layers) {
  std::vector<std::string> parts;
  for (auto first = layers.begin(); first != layers.end();) {
    auto last = first, next = std::next(first);
    while (next != layers.end() && *next == *last + 1) last = next++;
    if (*last - *first < 2) {
      for (std::int64_t layer = *first; layer <= *last; ++layer) parts.push_back(fmt::format("{}", layer));
    } else {
      parts.push_back(fmt::format("{} to {}", *first, *last));
    }
    first = next;
  }
  const std::string last = parts.back();
  parts.pop_back();
  const std::string numbers = parts.empty() ? last : fmt::format("{} and {}", fmt::join(parts, ", "), last);
  return (layers.size() == 1 ? "layer " : "layers ") + numbers;
}

}  // namespace

std::vector<SharedLayer> shared_layers(const ModelSpec& model) {
  std::vector<SharedLayer> layers;
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    if (model.layers[i].shared) layers.push_back({static_cast<std::int64_t>(i), model.layers[i].shared->source});
  return layers;
}

std::string shared_layers_text(std::span<const SharedLayer> layers) {
  std::set<std::int64_t> readers, sources;
  for (const SharedLayer& layer : layers) {
    readers.insert(layer.layer);
    sources.insert(layer.source);
  }
  return fmt::format("{} {} the K and V of {}", layers_text(readers), readers.size() == 1 ? "reads" : "read",
                     layers_text(sources));
}

void derive_shared_layers(std::span<const SharedLayer> layers, const DerivationLog& log) {
  if (layers.empty()) return;
  log.add([&] {
    return Decision{{"layers without K and V of their own", std::ssize(layers), ""},
                    shared_layers_text(layers) + ", and cache none", {}, "model.layers"};
  });
}

}  // namespace hybridkv
