#include "scenarios/model_import.h"

#include <filesystem>

#include "scenarios/hf_config.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_reader.h"
#include "scenarios/model_tree.h"

namespace hybridkv {

ImportedModel import_model(const std::string& path, const std::string& name) {
  const FileText file = read_text_file(path);
  if (!file.problem.empty()) throw InputError(path + ": " + file.problem);
  const YamlNode config = parse_json(file.text, {path, std::filesystem::path(path).parent_path().string(), {}});
  const YamlNode model = import_hf_config(config, name.empty() ? hf_model_name(path) : name, path);
  ReadContext context;
  return {read_model_mapping(context, "model", model).model, model_yaml(model)};
}

}  // namespace hybridkv
