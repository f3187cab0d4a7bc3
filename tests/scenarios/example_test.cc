#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <vector>

#include "scenarios/model_keys.h"
#include "scenarios/scenario_keys.h"
#include "scenario_text.h"
#include "test_paths.h"

// scenarios/example.yaml documents every key: as it is, or in lines that begin with "#:".

namespace hybridkv::test {

namespace {

std::string example_text() {
  std::ifstream file(HYBRIDKV_SOURCE_DIR "/scenarios/example.yaml");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The example with its "#:" lines in use, the model written out in place of the name.
std::string with_all_keys(const std::string& example) {
  std::string text;
  for (std::string line : lines_of(example)) {
    const std::size_t mark = line.find_first_not_of(' ');
    if (mark != std::string::npos && line.compare(mark, 2, "#:") == 0) line.erase(mark, 2);
    if (!line.starts_with("model: ")) text += line + "\n";
  }
  return text;
}

/// The example without the lines that hold `key`.
std::string without(const std::string& key) {
  std::string text;
  for (const std::string& line : lines_of(example_text()))
    if (line.find(key + ":") == std::string::npos) text += line + "\n";
  return text;
}

constexpr const char* distribution_name = "a distribution";

/// Every key of the table that a document does not hold, by path.
void collect_missing(std::set<std::string>& missing, const std::string& path, const YamlNode& node,
                     const SectionInfo& section) {
  for (const KeyInfo& key : section.keys) {
    const YamlNode* value = node.find(key.name);
    const std::string key_path = path_of(path, key.name);
    if (!value) {
      missing.insert(key_path);
    } else if (key.type == ValueType::sections) {
      YamlNode all;
      for (const YamlNode& item : value->items)
        all.entries.insert(all.entries.end(), item.entries.begin(), item.entries.end());
      collect_missing(missing, key_path, all, *key.section);
    } else if (key.section && key.section->name == distribution_name) {
      continue;  // each shows its own parameters; all_distributions() holds them together
    } else if (key.section) {
      collect_missing(missing, key_path, *value, *key.section);
    } else if (key.type == ValueType::model) {
      collect_missing(missing, key_path, *value, model_keys().info());
    } else if (key.type == ValueType::kinds) {
      for (const KindSection& kind : kind_sections()) {
        // All kinds of one type together show its keys: head_size and head_size_k exclude each other.
        YamlNode all;
        for (const YamlEntry& entry : value->entries)
          if (entry.value.find("type")->text == kind.type)
            all.entries.insert(all.entries.end(), entry.value.entries.begin(), entry.value.entries.end());
        collect_missing(missing, key_path + "." + kind.type, all, *kind.info);
      }
    }
  }
}

/// The parameters of all distributions together, and how they are read.
std::pair<YamlNode, const SectionInfo*> all_distributions(const YamlNode& root) {
  YamlNode all;
  const SectionInfo* section = nullptr;
  const SectionInfo& trace = *scenario_keys().info().find("simulate")->section->find("trace")->section;
  const KeyInfo* synthetic = trace.find("synthetic");
  const YamlNode* node = root.find("simulate")->find("trace")->find("synthetic");
  for (const KeyInfo& key : synthetic->section->keys) {
    if (!key.section || !node->find(key.name)) continue;
    section = key.section;
    const std::vector<YamlEntry>& entries = node->find(key.name)->entries;
    all.entries.insert(all.entries.end(), entries.begin(), entries.end());
  }
  return {all, section};
}

std::set<std::string> missing_keys(const std::string& example) {
  std::set<std::string> missing;
  const YamlNode root = parse_scenario(with_all_keys(example), "example.yaml").root;
  collect_missing(missing, "", root, scenario_keys().info());
  const auto [distributions, section] = all_distributions(root);
  collect_missing(missing, distribution_name, distributions, *section);
  return missing;
}

/// The other two kinds of trace, which the example shows in lines that begin with "#   ".
YamlNode other_traces() {
  std::string text;
  for (const std::string& line : lines_of(example_text()))
    if (line.starts_with("    #   ")) text += line.substr(8) + "\n";
  return parse_scenario(text, "example.yaml").root;
}

}  // namespace

TEST_CASE("golden: the example is read as it is, and with every key in use") {
  const Scenario scenario = read_scenario(parse_scenario(example_text(), "example.yaml"));
  CHECK(scenario.model.name == "Qwen3.5-4B");
  CHECK(scenario.engine.memory_bytes == 13'797'582'438);
  CHECK(scenario.pack_sizes == std::vector<std::int64_t>{1, 2, 3, 4});
  const Scenario all = read_scenario(parse_scenario(with_all_keys(example_text()), "example.yaml"));
  CHECK(all.model.name == "my-hybrid");
  CHECK(all.model.layers.size() == 62);
  CHECK(all.engine.num_blocks == 500);
  CHECK(all.engine.draft->layers == 5);
}

TEST_CASE("golden: the example shows every key that the reader knows") {
  // Where one key says it all, the keys that say it in two are shown for one kind of attention only.
  // Of three kinds of trace one is in use; with its drafter no memory of the host is replayed; a constant stands in the
  // comment about distributions.
  CHECK(missing_keys(example_text()) ==
        std::set<std::string>{"a distribution.value", "engine.draft.attention.head_size",
                              "model.kinds.chunked_local.head_size_k", "model.kinds.chunked_local.head_size_v",
                              "model.kinds.cross_attention.head_size_k", "model.kinds.cross_attention.head_size_v",
                              "model.kinds.sliding_window.head_size_k", "model.kinds.sliding_window.head_size_v",
                              "simulate.clock", "simulate.fleet", "simulate.host_memory", "simulate.host_state_share",
                              "simulate.trace.file", "simulate.trace.form", "simulate.trace.prompts",
                              "simulate.trace.skip_bad_lines"});
  CHECK(example_text().find("{distribution: constant, value: 80}") != std::string::npos);
  // These stand there in lines of comment: with them the example would go by a clock, or be one of several replicas.
  for (const char* const section : {"clock", "fleet"})
    for (const KeyInfo& key : scenario_keys().info().find("simulate")->section->find(section)->section->keys) {
      CAPTURE(key.name);
      CHECK(example_text().find("\n  #   " + key.name + ": ") != std::string::npos);
    }
  std::set<std::string> other;
  collect_missing(other, "", other_traces(), *scenario_keys().info().find("simulate")->section->find("trace")->section);
  CHECK(other == std::set<std::string>{"max_requests", "synthetic"});
  CHECK(example_text().find("model: {file: my-model.yaml}") != std::string::npos);
}

TEST_CASE("golden: the example names every word that the reader allows") {
  const std::string text = example_text();
  for (const char* section : {"engine", "workspace", "simulate"})
    for (const KeyInfo& key : scenario_keys().info().find(section)->section->keys)
      for (const std::string& word : key.choices) {
        CAPTURE(key.name);
        CAPTURE(word);
        CHECK(text.find(word) != std::string::npos);
      }
  const KeyInfo& trace = *scenario_keys().info().find("simulate")->section->find("trace");
  for (const std::string& form : trace.section->find("form")->choices) {
    CAPTURE(form);
    CHECK((text.find(" " + form + " ") != std::string::npos || text.find(" " + form + ",") != std::string::npos));
  }
}

TEST_CASE("fault: a key taken out of the example is missed") {
  CHECK(missing_keys(without("chunk_blocks")).contains("workspace.chunk_blocks"));
  CHECK(missing_keys(without("num_blocks")).contains("engine.num_blocks"));
  CHECK(missing_keys(without("groups")).contains("model.kinds.mamba2.groups"));
}

}  // namespace hybridkv::test
