#include "scenarios/model_import.h"

#include <filesystem>

#include "scenarios/hf_config.h"
#include "scenarios/hf_hub.h"
#include "scenarios/hf_unused.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_library.h"
#include "scenarios/model_reader.h"
#include "scenarios/model_tree.h"

namespace hybridkv {

ImportedModel import_model(const std::string& path_or_folder, const ImportOptions& options) {
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
  const std::string given = is_hub_name(path_or_folder) ? path_or_folder.substr(path_or_folder.rfind('/') + 1) : "";
  const std::string name = !options.name.empty() ? options.name : !given.empty() ? given : hf_model_name(path);
  const HfFields fields = hf_fields(config, options.as_class);
  const YamlNode model = import_hf_fields(fields, name, shown, options.dtype);
  ReadContext context;
  return {read_model_mapping(context, "model", model).model, model_yaml(model), unused_hf_fields(fields, model),
          hf_numbers(fields, model), hf_readings(model)};
}

std::string model_template() {
  return "name: my-hybrid                # as it is to be called\n"
         "dtype: bf16                    # of the model; K, V and convolution states follow it\n"
         "ssm_dtype: fp32                # of recurrent states; leave it out where they follow the model\n"
         "kinds:                         # of layer, each with a letter\n"
         "  a: {type: full_attention, query_heads: 16, kv_heads: 2, head_size: 256}\n"
         "  w: {type: sliding_window, query_heads: 16, kv_heads: 2, head_size: 256, window_tokens: 1024}\n"
         "  m: {type: gdn, key_heads: 16, value_heads: 32, key_head_dim: 128, value_head_dim: 128, conv_kernel: 4}\n"
         "# All types and keys are in model.schema.json. A layer is its letter, - one without a cache, a+m one with "
         "both.\n"
         "layers: \"(mmmw)11 mmma\"      # in order; a number repeats what stands before it\n";
}

}  // namespace hybridkv
