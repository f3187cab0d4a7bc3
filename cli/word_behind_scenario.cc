#include "cli/word_behind_scenario.h"

#include <fmt/format.h>

#include <filesystem>

namespace hybridkv {

void add_word_behind_scenario(CLI::App& command, std::string& word, const WordBehindScenario& kind) {
  const auto take = [&word, is_written = kind.is_written](std::string text) {
    if (!is_written(text) || std::filesystem::exists(text)) return text;
    word = text;
    return std::string();
  };
  command.get_option("SCENARIO")->transform(take, "");
  const auto set = [&word, once = kind.once](const std::string& text) {
    if (!word.empty())
      throw CLI::ValidationError(fmt::format("{} {}: {}, and SCENARIO stands before it", word, text, once));
    word = text;
  };
  command.add_option_function<std::string>(kind.name, set, kind.meaning)->type_name("");
}

}  // namespace hybridkv
