#include "ask/conform/record_difference.h"

#include <algorithm>

#include "ask/conform/figure_place.h"

namespace hybridkv {

namespace {

using Json = nlohmann::ordered_json;

/// Records or lists of records are looked into; anything else is a figure.
bool is_nested(const Json& value) {
  return value.is_object() || (value.is_array() && !value.empty() && value.front().is_object());
}

class RecordComparison {
 public:
  explicit RecordComparison(std::map<std::string, FigureCount>& counts) : counts_(counts) {}

  void compare(const std::string& place, const Json* ours, const Json* theirs) {
    const bool nested = (ours != nullptr && is_nested(*ours)) || (theirs != nullptr && is_nested(*theirs));
    if (nested && ours != nullptr && theirs != nullptr && ours->type() == theirs->type())
      ours->is_object() ? compare_objects(place, *ours, *theirs) : compare_lists(place, *ours, *theirs);
    else
      count(place, ours, theirs);
  }

  std::optional<RecordDifference> first;

 private:
  void compare_objects(const std::string& place, const Json& ours, const Json& theirs) {
    const auto within = [&](const std::string& key) { return place.empty() ? key : place + "." + key; };
    for (const auto& [key, value] : ours.items())
      compare(within(key), &value, theirs.contains(key) ? &theirs[key] : nullptr);
    for (const auto& [key, value] : theirs.items())
      if (!ours.contains(key)) compare(within(key), nullptr, &value);
  }

  void compare_lists(const std::string& place, const Json& ours, const Json& theirs) {
    for (std::size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i)
      compare(place + "[" + std::to_string(i) + "]", i < ours.size() ? &ours[i] : nullptr,
              i < theirs.size() ? &theirs[i] : nullptr);
  }

  void count(const std::string& place, const Json* ours, const Json* theirs) {
    const bool equal = ours != nullptr && theirs != nullptr && *ours == *theirs;
    const std::string name = figure_place(place).name;
    FigureCount& count = counts_[name];
    ++count.compared;
    count.equal += equal ? 1 : 0;
    const auto words = [](const Json* value) { return value == nullptr ? std::string("nothing") : value->dump(); };
    if (!equal && !first) first = RecordDifference{place, name, words(ours), words(theirs)};
  }

  std::map<std::string, FigureCount>& counts_;
};

}  // namespace

std::optional<RecordDifference> first_difference(const Json& ours, const Json& theirs,
                                                 std::map<std::string, FigureCount>& counts) {
  RecordComparison comparison(counts);
  comparison.compare("", &ours, &theirs);
  return comparison.first;
}

}  // namespace hybridkv
