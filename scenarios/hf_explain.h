#pragma once

#include <string>
#include <vector>

#include "scenarios/hf_fields.h"

namespace hybridkv {

/// One number of an imported model and the field behind it.
struct ImportedNumber {
  std::string key;     ///< "kinds.a.kv_heads"
  std::string value;   ///< as the model file writes it
  std::string field;   ///< "text_config.num_key_value_heads"; empty where no field alone says it
  std::string origin;  ///< "config.json:12:5", "class default of qwen3_next in transformers 5.23.0"
};

/// The numbers and kinds of an imported model, in the order of its file, each with the field it comes from. A number
/// that follows from several fields has that of the first.
std::vector<ImportedNumber> hf_numbers(const HfFields& fields, const YamlNode& model);

/// What engines keep of each kind of layer, which the model file says, and what Transformers keeps of it where that is
/// something else: "m: engines keep 3 rows of the convolution …; Transformers keeps 4".
std::vector<std::string> hf_readings(const YamlNode& model);

}  // namespace hybridkv
