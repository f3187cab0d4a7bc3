#include "scenarios/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

namespace hybridkv {

namespace {

constexpr std::size_t largest_file_bytes = std::size_t{16} << 20;

/// Builds the tree from the events of yaml-cpp's parser, checking on the way what yaml-cpp leaves unchecked.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::shared_ptr<const SourceText> source, const std::vector<std::string>& lines)
      : source_(std::move(source)), lines_(lines) {
    root_.place = root_.key_place = Place{source_, 0, 0};
  }

  /// The tree, once the parser has reached its end without an error of its own.
  YamlNode take_root() {
    if (odd_key_) throw error_at(*odd_key_, "a key must be plain text");
    return std::move(root_);
  }

  /// yaml-cpp counts from 0 and in bytes; places count from 1 and in characters.
  Place place_of(const YAML::Mark& mark) {
    if (source_->lines.empty() || mark.is_null()) return {source_, 0, 0};
    // Marks mostly go forward, so counting goes on from the last one: a line of a megabyte is counted once.
    if (mark.line != counted_.line || mark.column < counted_.byte) counted_ = {mark.line, 0, 1};
    const auto line = static_cast<std::size_t>(mark.line);
    const std::string_view text = line < source_->lines.size() ? std::string_view(source_->lines[line]) : "";
    for (; counted_.byte < mark.column && static_cast<std::size_t>(counted_.byte) < text.size(); ++counted_.byte)
      if ((static_cast<unsigned char>(text[static_cast<std::size_t>(counted_.byte)]) & 0xC0) != 0x80)
        ++counted_.column;
    return {source_, mark.line + 1, counted_.column};
  }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node = node_at(mark, YamlNode::Kind::nothing);
    count(node.place, {1, 0});
    // null in a list is a value; nothing between two commas is more likely a slip.
    if (!open_.empty() && open_.back().is_flow_list && !is_written(mark))
      throw error_at(node.place, "a value of the list is empty; take out the comma, or write null for the default");
    add(std::move(node), anchor, {1, 0});
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = node_at(mark, YamlNode::Kind::scalar);
    count(node.place, {1, 0});
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node), anchor, {1, 0});
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto named = anchors_.find(anchor);
    if (named == anchors_.end()) throw error_at(place_of(mark), "an alias inside the value that it names");
    const auto& [node, extent] = named->second;
    count(place_of(mark), extent);
    add(node, 0, extent);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value style) override {
    open(node_at(mark, YamlNode::Kind::list), anchor);
    open_.back().is_flow_list = style == YAML::EmitterStyle::Flow;
  }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(node_at(mark, YamlNode::Kind::mapping), anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapEnd() override { close(); }

 private:
  /// Values in a node, itself included, and levels below it.
  struct Extent {
    std::int64_t values = 0;
    std::int64_t levels = 0;
  };
  /// A list or mapping whose end has not come.
  struct OpenNode {
    YamlNode node;
    YAML::anchor_t anchor;
    Extent extent;
    std::optional<std::string> key;     // mapping: read, its value is next
    Place key_place;
    std::map<std::string, Place> keys;  // mapping: all so far
    bool is_flow_list = false;          // [1, 2]
  };

  /// How far the characters of a line have been counted.
  struct Counted {
    int line = -1;
    int byte = 0;
    std::int64_t column = 1;
  };

  YamlNode node_at(const YAML::Mark& mark, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.place = node.key_place = place_of(mark);
    return node;
  }

  /// Does a value without content stand there, as null or ~, or is there only the comma that ends it?
  bool is_written(const YAML::Mark& mark) const {
    const auto line = static_cast<std::size_t>(mark.line);
    if (line >= lines_.size() || static_cast<std::size_t>(mark.column) >= lines_[line].size()) return false;
    const char first = lines_[line][static_cast<std::size_t>(mark.column)];
    return first != ',' && first != ']';
  }

  void count(const Place& place, const Extent& more) {
    const auto depth = static_cast<std::int64_t>(open_.size());
    if (depth + more.levels > deepest_nesting)
      throw error_at(place, fmt::format("more than {} lists and mappings inside each other", deepest_nesting));
    values_ += more.values;
    if (values_ > most_values) throw error_at(place, fmt::format("more than {} values", most_values));
  }

  void open(YamlNode node, YAML::anchor_t anchor) {
    count(node.place, {1, 1});
    open_.push_back({std::move(node), anchor, {1, 1}, {}, {}, {}, false});
  }

  void close() {
    OpenNode closed = std::move(open_.back());
    open_.pop_back();
    add(std::move(closed.node), closed.anchor, closed.extent);
  }

  bool expects_key() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::mapping && !open_.back().key;
  }

  void add(YamlNode node, YAML::anchor_t anchor, Extent extent) {
    if (anchor != 0) anchors_[anchor] = {node, extent};
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    if (expects_key()) {
      add_key(node);
      return;
    }
    OpenNode& parent = open_.back();
    parent.extent.values += extent.values;
    parent.extent.levels = std::max(parent.extent.levels, extent.levels + 1);
    if (parent.node.kind == YamlNode::Kind::list) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    node.key_place = parent.key_place;
    if (node.kind == YamlNode::Kind::nothing) node.place = node.key_place;
    parent.node.entries.push_back({*parent.key, std::move(node)});
    parent.key.reset();
  }

  void add_key(const YamlNode& node) {
    OpenNode& mapping = open_.back();
    if (node.kind != YamlNode::Kind::scalar) {
      // Told at the end only: broken YAML can look like an odd key, and then that is what to tell.
      if (!odd_key_) odd_key_ = node.place;
      mapping.key = "";
      return;
    }
    const auto [first, is_new] = mapping.keys.emplace(node.text, node.place);
    if (!is_new) {
      const std::string where = first->second.line > 0 ? fmt::format(" (first in line {})", first->second.line) : "";
      throw error_at(node.place, fmt::format("key {} is given twice{}", in_quotes(node.text), where));
    }
    mapping.key = node.text;
    mapping.key_place = node.place;
  }

  std::shared_ptr<const SourceText> source_;
  const std::vector<std::string>& lines_;  // of the text, also where the source shows none
  std::vector<OpenNode> open_;
  std::map<YAML::anchor_t, std::pair<YamlNode, Extent>> anchors_;
  YamlNode root_;
  std::optional<Place> odd_key_;  // the first key that is no plain text
  std::int64_t values_ = 0;
  Counted counted_;
};

/// Finds out whether anything follows the first document, and where.
class DocumentStart : public TreeBuilder {
 public:
  using TreeBuilder::TreeBuilder;
  void OnDocumentStart(const YAML::Mark& mark) override {
    throw error_at(place_of(mark), "a second YAML document begins here; one is expected");
  }
};

YamlNode parse(std::string_view text, SourceText source) {
  const auto shared = std::make_shared<const SourceText>(std::move(source));
  const std::vector<std::string> lines = lines_of(text);
  TreeBuilder builder(shared, lines);
  DocumentStart second(shared, lines);
  std::istringstream stream{std::string(text)};
  try {
    YAML::Parser parser(stream);
    // Not YAML::LoadAll, which never ends on texts like "[1], 2".
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(second);
  } catch (const YAML::Exception& error) {
    throw error_at(builder.place_of(error.mark), "broken YAML: " + error.msg);
  }
  return builder.take_root();
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const YamlEntry& e) { return e.key == key && !e.value.left_out; });
  return found == entries.end() ? nullptr : &found->value;
}

YamlNode* YamlNode::find(std::string_view key) { return const_cast<YamlNode*>(std::as_const(*this).find(key)); }

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::size_t end = std::min(longest, text.size());
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  std::string shown(text.substr(0, end));
  for (char& byte : shown)
    if ((byte >= 0 && byte < ' ') || byte == 0x7F) byte = '?';
  return "'" + shown + (end < text.size() ? "…'" : "'");
}

std::string describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::nothing: return "nothing";
    case YamlNode::Kind::scalar: return "the text " + in_quotes(node.text);
    case YamlNode::Kind::list: return "a list";
    case YamlNode::Kind::mapping: return "a mapping";
  }
  return "?";
}

std::string yaml_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return quoted + "\"";
}

YamlNode parse_yaml(std::string_view text, SourceText source) {
  source.lines = lines_of(text);
  return parse(text, std::move(source));
}

YamlNode parse_flag_value(std::string_view text, SourceText source) {
  source.lines.clear();
  return parse(text, std::move(source));
}

namespace {

FileText file_problem(int error) {
  if (error == ENOENT) return {"", "no such file"};
  if (error == EISDIR) return {"", "is a directory, not a file"};
  return {"", std::string("cannot be read: ") + std::strerror(error)};
}

FileText read_stream(std::FILE* file) {
  constexpr std::size_t piece_bytes = std::size_t{1} << 16;
  std::string text;
  for (std::size_t held = 0, count = 0; held <= largest_file_bytes; held += count) {
    text.resize(held + piece_bytes);
    count = std::fread(text.data() + held, 1, piece_bytes, file);
    text.resize(held + count);
    if (count == 0) break;
  }
  if (std::ferror(file) != 0) return file_problem(errno);
  if (text.size() > largest_file_bytes) return {"", "is larger than 16 MiB"};
  return {std::move(text), ""};
}

FileText read_now(const std::string& path) {
  if (path == standard_input) return read_stream(stdin);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  return file ? read_stream(file.get()) : file_problem(errno);
}

/// True for what gives its bytes away: standard input, a pipe, a terminal.
bool reads_once(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return path == standard_input || std::filesystem::is_fifo(status) || std::filesystem::is_character_file(status);
}

}  // namespace

FileText read_text_file(const std::string& path) {
  if (!reads_once(path)) return read_now(path);
  static std::mutex mutex;
  static std::map<std::string, FileText> kept;
  const std::lock_guard lock(mutex);
  const auto found = kept.find(path);
  if (found != kept.end()) return found->second;
  claim_stream(path, "the scenario or model");
  return kept.emplace(path, read_now(path)).first->second;
}

}  // namespace hybridkv
