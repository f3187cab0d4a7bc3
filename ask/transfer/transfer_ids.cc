#include "ask/transfer/transfer_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/input_file.h"
#include "scenarios/model_reader.h"
#include "scenarios/number.h"
#include "scenarios/yaml_tree.h"

namespace hybridkv {

namespace {

using Groups = std::vector<std::vector<std::int64_t>>;

/// The items of a list. Throws InputError where it is anything else.
const std::vector<YamlNode>& items_of(const YamlNode& node, const char* what) {
  if (node.kind != YamlNode::Kind::list)
    fail_at(node.place, "{} is {}; expected a list, as in [[1, 2, 3], [4]]: the ids of each group", what,
            describe(node));
  return node.items;
}

std::int64_t id_of(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::nothing) return nobody_holds;
  if (node.kind != YamlNode::Kind::scalar || node.quoted)
    fail_at(node.place, "an id is {}; expected a whole number, or null where nobody holds the tokens any more",
            describe(node));
  const ParsedNumber id = parse_integer(node.text);
  if (!id.problem.empty()) fail_at(node.place, "an id {}", id.problem);
  if (id.value < 0) fail_at(node.place, "an id is {}; ids begin with 0, and null is nobody's", id.value);
  return id.value;
}

Groups groups_of(const YamlNode& node) {
  Groups groups;
  for (const YamlNode& group : items_of(node, "a stage")) {
    std::vector<std::int64_t>& ids = groups.emplace_back();
    for (const YamlNode& id : items_of(group, "a group")) ids.push_back(id_of(id));
  }
  return groups;
}

/// Are the items of the list groups rather than stages? A stage is a list of lists.
bool is_one_stage(const YamlNode& root) {
  const auto holds_list = [](const YamlNode& node) {
    return node.kind == YamlNode::Kind::list && !node.items.empty() &&
           node.items.front().kind == YamlNode::Kind::list;
  };
  return std::none_of(root.items.begin(), root.items.end(), holds_list);
}

}  // namespace

RequestTables read_request_tables(const std::string& path) {
  const FileText file = read_text_file(path);
  const std::string shown = input_name(path);
  if (!file.problem.empty()) throw InputError(fmt::format("{}: {}", shown, file.problem));
  const YamlNode root =
      parse_yaml_or_json(file.text, {shown, std::filesystem::path(path).parent_path().string(), {}});
  items_of(root, "the file");
  RequestTables tables;
  if (is_one_stage(root)) {
    tables.ids.push_back(groups_of(root));
  } else {
    for (const YamlNode& stage : root.items) tables.ids.push_back(groups_of(stage));
  }
  return tables;
}

}  // namespace hybridkv
