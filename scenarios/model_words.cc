#include "scenarios/model_words.h"

#include <filesystem>
#include <system_error>

#include "base/input_file.h"
#include "scenarios/model_library.h"

namespace hybridkv {

bool is_input_path(const std::string& text) {
  std::error_code error;
  return text == standard_input || std::filesystem::exists(text, error);
}

bool names_model_file(const std::string& text) {
  const bool has_ending = text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json");
  const bool is_name = text.find('/') == std::string::npos && find_shipped_model(text) != nullptr;
  return has_ending || (!is_name && is_input_path(text));
}

}  // namespace hybridkv
