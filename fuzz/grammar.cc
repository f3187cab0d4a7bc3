// The small languages of scenarios and flags. The first byte chooses one; what is read is written and read again.
#include <cmath>

#include "attention/batch_spec.h"
#include "attention/kv_format.h"
#include "attention/kv_view.h"
#include "base/dtype.h"
#include "fuzz/harness.h"
#include "scenarios/json_tree.h"
#include "scenarios/layer_pattern.h"
#include "scenarios/number.h"
#include "scenarios/yaml_tree.h"
#include "simulator/schedule/simulation.h"
#include "simulator/trace/synthetic_trace.h"
#include "simulator/trace/trace_file.h"

using namespace hybridkv;

namespace {

void check_batch(std::string_view text) {
  fuzz::accepts([&] {
    const BatchSpec batch = parse_batch_spec(text);
    fuzz::require(parse_batch_spec(to_string(batch)) == batch, "a batch reads back as another one");
    fuzz::require(batch.num_reqs() <= max_batch_requests, "a batch beyond its limit");
  });
}

void check_pattern(std::string_view text) {
  try {
    const std::vector<PatternLayer> layers = parse_layer_pattern(text);
    fuzz::require(!layers.empty() && layers.size() <= 10'000, "a pattern of no layer, or of too many");
    if (layers.size() > 64) return;
    std::vector<std::string> written;
    for (const PatternLayer& layer : layers) {
      std::string kinds;
      for (const char kind : layer.kinds) kinds += (kinds.empty() ? "" : "+") + std::string(1, kind);
      written.push_back(kinds.empty() ? "-" : kinds);
    }
    const std::vector<PatternLayer> again = parse_layer_pattern(layer_pattern_text(written));
    fuzz::require(again.size() == layers.size(), "a pattern reads back with another number of layers");
    for (std::size_t i = 0; i < layers.size(); ++i)
      fuzz::require(again[i].kinds == layers[i].kinds, "a pattern reads back with other layers");
  } catch (const PatternError& error) {
    fuzz::require(error.offset() <= text.size(), "an error outside its pattern");
  }
}

void check_numbers(std::string_view text) {
  const ParsedNumber integer = parse_integer(text);
  if (integer.problem.empty()) {
    const std::string written = std::to_string(integer.value);
    fuzz::require(parse_integer(written).value == integer.value, "an integer reads back as another one");
  }
  const ParsedReal real = parse_real(text);
  if (real.problem.empty()) fuzz::require(std::isfinite(real.value) && real.value >= 0, "a real number out of range");
  const ParsedNumber size = parse_size(text);
  if (size.problem.empty()) {
    fuzz::require(size.value >= 0, "a size below 0");
    fuzz::require(parse_size(std::to_string(size.value)).value == size.value, "a size reads back as another one");
  }
}

void check_ranges(std::string_view text) {
  if (is_range(text)) {
    const ParsedRange range = parse_range(text);
    fuzz::require(range.problem.empty() != range.values.empty(), "a range with a problem and values, or with neither");
    fuzz::require(range.values.size() <= 10'000, "a range beyond its limit");
    for (std::size_t i = 1; i < range.values.size(); ++i)
      fuzz::require(range.values[i - 1] < range.values[i], "a range that does not ascend");
  }
  if (is_size_range(text)) {
    const ParsedSizeRange range = parse_size_range(text);
    fuzz::require(range.problem.empty() != range.values.empty(), "sizes with a problem and values, or with neither");
    for (const std::string& value : range.values)
      fuzz::require(parse_size(value).problem.empty(), "a range of sizes holds what is no size");
  }
}

/// Every name of a choice reads as that choice.
template <class Parse>
void check_name(std::string_view text, Parse parse) {
  if (const auto value = parse(text)) fuzz::require(parse(to_string(*value)) == value, "a name reads back otherwise");
}

void check_names(std::string_view text) {
  check_name(text, parse_dtype);
  check_name(text, parse_kv_format);
  check_name(text, parse_backend_form);
  check_name(text, parse_physical_order);
  check_name(text, parse_cache_mode);
  check_name(text, parse_token_rule);
  check_name(text, parse_trace_form);
  check_name(text, parse_driver_kind);
  check_name(text, parse_distribution_kind);
}

void check_trees(std::string_view text) {
  fuzz::accepts([&] { describe(parse_yaml(text, {"fuzz.yaml", "", {}})); });
  fuzz::accepts([&] { describe(parse_flag_value(text, {"--set fuzz", "", {}})); });
  fuzz::accepts([&] { describe(parse_json(text, {"fuzz.json", "", {}})); });
  for (const char c : in_quotes(text)) fuzz::require(c < 0 || c >= ' ', "a control character in a message");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  constexpr void (*grammars[])(std::string_view) = {check_batch,  check_pattern, check_numbers,
                                                    check_ranges, check_names,   check_trees};
  const std::size_t choice = input.byte() % std::size(grammars);
  grammars[choice](input.rest());
  return 0;
}
