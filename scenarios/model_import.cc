#include "scenarios/model_import.h"

#include <filesystem>

#include "scenarios/hf_config.h"
#include "scenarios/hf_unused.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_library.h"
#include "scenarios/model_reader.h"
#include "scenarios/model_tree.h"

namespace hybridkv {

ImportedModel import_model(const std::string& path_or_folder, const std::string& name, std::optional<DType> dtype) {
  const std::string path = config_in(path_or_folder);
  const std::string shown = input_name(path);
  const FileText file = read_text_file(path);
  if (!file.problem.empty()) {
    std::string advice;
    if (find_shipped_model(path_or_folder))
      advice = "; that model comes with hybridkv: --model " + path_or_folder + " needs no import";
    throw InputError(shown + ": " + file.problem + advice);
  }
  const YamlNode config = parse_json(file.text, {shown, std::filesystem::path(path).parent_path().string(), {}});
  const YamlNode model = import_hf_config(config, name.empty() ? hf_model_name(path) : name, shown, dtype);
  ReadContext context;
  return {read_model_mapping(context, "model", model).model, model_yaml(model), unused_hf_fields(config, model)};
}

}  // namespace hybridkv
