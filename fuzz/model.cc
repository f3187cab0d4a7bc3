// A model file, and with '{' in front a published config.json as `import` reads it.
#include "fuzz/harness.h"
#include "fuzz/plan_checks.h"
#include "scenarios/model_reader.h"
#include "scenarios/model_tree.h"

using namespace hybridkv;

namespace {

ModelSpec read(const YamlNode& root) {
  ReadContext context;
  return read_model_mapping(context, "model", root).model;
}

/// The same model but for where its numbers come from.
bool equal(ModelSpec left, const ModelSpec& right) {
  left.source = right.source;
  return left == right;
}

void check_model(const std::string& name, std::string_view text) {
  YamlNode root;
  ModelSpec model;
  const bool is_model = fuzz::accepts([&] {
    root = parse_model_text(text, {name, "", {}});
    model = read(root);
  });
  if (!is_model) return;
  const std::string written = model_yaml(root);
  bool is_same = false;
  fuzz::accepts([&] { is_same = equal(read(parse_yaml(written, {"written.yaml", "", {}})), model); });
  fuzz::require(is_same, "a model file that was written reads back as another model");
  fuzz::accepts([&] {
    Scenario scenario;
    scenario.model = model;
    scenario.engine.memory_bytes = std::int64_t{20} << 30;
    scenario.limits.max_model_lens = {4096};
    fuzz::check_plans(scenario, fuzz::choice_of(text));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::Input(data, size).rest();
  check_model(text.starts_with('{') ? "fuzz.json" : "fuzz.yaml", text);
  return 0;
}
