#pragma once

#include <string>

namespace hybridkv {

/// Is there a file or folder of that name, or is it standard input? A name that no file can have is none.
bool is_input_path(const std::string& text);

/// What users write for a model is the path of a file or of the folder of a config.json, or the name of a shipped
/// model, perhaps behind an organisation. A plain name is the shipped model even where there is a file or folder that
/// is called the same. Is this the path?
bool names_model_file(const std::string& text);

}  // namespace hybridkv
