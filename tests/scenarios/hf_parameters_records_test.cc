// Parameters of imported configs against those that Hugging Face Transformers makes of the same configs.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/error.h"
#include "scenarios/hf_fields.h"
#include "scenarios/json_tree.h"
#include "scenarios/model_import.h"
#include "test_paths.h"

namespace hybridkv::test {

namespace {

/// What the record of one config says.
struct RecordedParameters {
  std::int64_t total = 0;
  std::int64_t active = 0;
  std::int64_t other_modalities = 0;
  std::int64_t other = 0;  ///< norms, and of models with other modalities the projector
};

std::map<std::string, RecordedParameters> recorded_parameters(std::ifstream& file) {
  std::map<std::string, RecordedParameters> records;
  std::string line;
  std::getline(file, line);
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string config, part, count, each, active;
    std::getline(cells, config, ',');
    std::getline(cells, part, ',');
    std::getline(cells, count, ',');
    std::getline(cells, each, ',');
    std::getline(cells, active, ',');
    const std::int64_t parameters = std::stoll(count) * std::stoll(each);
    if (part == "total") records[config].total = parameters;
    if (part == "total") records[config].active = std::stoll(active);
    if (part == "other_modalities") records[config].other_modalities += parameters;
    if (part == "other") records[config].other += parameters;
  }
  return records;
}

/// Where a record is no number of parameters of the model, or no rule is known, and why.
bool is_beside_the_rules(const std::string& config) {
  static const std::set<std::string> names = {
      "zamba2",         // counts its shared layers once for each use
      "longcat_flash",  // has weights for the experts that compute nothing, which no published file holds
      "t5", "umt5", "longt5", "bart", "modernbert-decoder",  // count tables of tokens several times
      "speech_to_text", "pix2struct", "git", "big_bird", "electra", "t5gemma",  // towers and heads of their own
      "gradium_phonon_tts", "pocket_tts", "vibevoice_asr", "inkling_mm_model", "kosmos-2", "higgs_audio_v2",
  };
  const std::string name = config.substr(0, config.find('.'));
  return names.contains(name) || name.starts_with("zamba2") || name.starts_with("modernbert");
}

bool is_near(std::int64_t counted, std::int64_t recorded) {
  return std::abs(static_cast<double>(counted - recorded)) <= 1e-3 * static_cast<double>(recorded);
}

/// Words times the size of a layer: what a record counts twice where the head is the table of tokens.
std::int64_t table_of_tokens(const std::string& path) {
  const YamlNode root = parse_json(read_text_file(path).text, {path, "", {}});
  const HfFields fields(root);
  const auto words = fields.optional_number({"vocab_size"});
  const auto hidden = fields.optional_number({"hidden_size"});
  const auto old = fields.optional_number({"n_embd"});
  const auto older = fields.optional_number({"d_model"});
  if (!words) return 0;
  for (const auto& size : {hidden, old, older})
    if (size) return words->value * size->value;
  return 0;
}

}  // namespace

TEST_CASE("golden: parameters of imported configs are those of Transformers within 0.1 %") {
  const char* folder = std::getenv("HYBRIDKV_CASES_DIR");
  std::ifstream file(std::string(folder ? folder : "") + "/configs/parameters.csv");
  if (!folder || !file.is_open()) {
    std::printf("SKIPPED: configs/parameters.csv is looked for in $HYBRIDKV_CASES_DIR\n");
    return;
  }
  int compared = 0, refused = 0, without = 0;
  for (const auto& [config, record] : recorded_parameters(file)) {
    CAPTURE(config);
    const std::string path = std::string(folder) + "/configs/" + config;
    std::optional<ModelParameters> parameters;
    try {
      parameters = import_model(path, {.dtype = DType::bf16}).model.parameters;
    } catch (const InputError&) {
      ++refused;
      continue;
    }
    if (!parameters) ++without;
    if (!parameters || is_beside_the_rules(config)) continue;
    const bool has_tower = record.other_modalities != 0;
    const std::int64_t language = record.total - record.other_modalities - (has_tower ? record.other : 0);
    const std::int64_t counted =
        total_parameters(*parameters) - parameters->beside[ParameterPart::other_modalities];
    const bool is_tied = parameters->beside[ParameterPart::head] < table_of_tokens(path);
    CAPTURE(counted);
    CAPTURE(language);
    CHECK((is_near(counted, language) || (is_tied && is_near(counted + table_of_tokens(path), language))));
    const std::int64_t idle = total_parameters(*parameters) - active_parameters(*parameters);
    CHECK((idle == record.total - record.active || is_near(idle, record.total - record.active)));
    ++compared;
  }
  MESSAGE(fmt::format("{} compared, {} not imported, {} without a size that is needed", compared, refused, without));
}

}  // namespace hybridkv::test
