#include "scenarios/json_tree.h"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace hybridkv {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The text with NaN, Infinity and -Infinity outside strings replaced by numbers of the same length, so that places
/// stay where they are.
std::string without_python_constants(std::string_view text) {
  std::string plain(text);
  bool in_string = false;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (in_string && plain[i] == '\\') {
      ++i;
    } else if (plain[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && is_letter(plain[i])) {
      std::size_t end = i;
      while (end < plain.size() && is_letter(plain[end])) ++end;
      const std::string_view word = text.substr(i, end - i);
      if (word == "NaN" || word == "Infinity") {
        plain.replace(i, word.size(), word.size(), ' ');
        plain.replace(i, 3, "0.0");
      }
      i = end - 1;
    }
  }
  return plain;
}

/// Walks over a text and counts what the parser has taken, which its events do not tell.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* position, std::size_t* taken) : position_(position), taken_(taken) {}
  reference operator*() const { return *position_; }
  CountingIterator& operator++() {
    ++position_;
    ++*taken_;
    return *this;
  }
  CountingIterator operator++(int) {
    const CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return position_ == other.position_; }

 private:
  const char* position_;
  std::size_t* taken_;
};

/// Builds the tree from the events of nlohmann's parser. A token begins at the first byte after the one before it
/// that is no blank, comma or colon, and ends where the parser stands; numbers end by their own characters, because
/// the parser has looked one further.
class JsonTreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  JsonTreeBuilder(std::string_view text, std::shared_ptr<const SourceText> source, const std::size_t* taken)
      : text_(text), source_(std::move(source)), taken_(taken) {
    root_.place = root_.key_place = Place{source_, 0, 0};
  }

  YamlNode take_root() { return std::move(root_); }

  bool null() override { return add(node_at(begin_token(), YamlNode::Kind::nothing)); }
  bool boolean(bool value) override {
    YamlNode node = node_at(begin_token(), YamlNode::Kind::scalar);
    node.text = value ? "true" : "false";
    return add(std::move(node));
  }
  bool number_integer(number_integer_t) override { return add_number(); }
  bool number_unsigned(number_unsigned_t) override { return add_number(); }
  bool number_float(number_float_t, const string_t&) override { return add_number(); }
  bool string(string_t& value) override {
    YamlNode node = node_at(begin_token(), YamlNode::Kind::scalar);
    node.text = value;
    node.quoted = true;
    return add(std::move(node));
  }
  bool binary(binary_t&) override { throw std::logic_error("JSON text has no binary values"); }

  bool start_object(std::size_t) override { return open(YamlNode::Kind::mapping); }
  bool start_array(std::size_t) override { return open(YamlNode::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const Place place = place_of(begin_token());
    token_end_ = *taken_;
    OpenNode& mapping = open_.back();
    const auto [first, is_new] = mapping.keys.emplace(name, place);
    if (!is_new) fail_at(place, "key {} is given twice (first in line {})", in_quotes(name), first->second.line);
    mapping.key = name;
    mapping.key_place = place;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    // nlohmann: "[json.exception…] parse error at line 1, column 2: what is wrong"; the place is ours to tell.
    std::string_view problem = error.what();
    if (const std::size_t column = problem.find(", column "); column != std::string_view::npos)
      if (const std::size_t colon = problem.find(": ", column); colon != std::string_view::npos)
        problem.remove_prefix(colon + 2);
    std::string shown;
    for (const char byte : problem) shown += (byte >= 0 && byte < ' ') || byte == 0x7F ? '?' : byte;
    throw error_at(place_of(position == 0 ? 0 : position - 1), "broken JSON: " + shown);
  }

 private:
  struct OpenNode {
    YamlNode node;
    std::optional<std::string> key;  // mapping: read, its value is next
    Place key_place;
    std::map<std::string, Place> keys;  // mapping: all so far
  };

  std::size_t begin_token() {
    std::size_t begin = token_end_;
    while (begin < text_.size() && std::string_view(" \t\r\n,:").find(text_[begin]) != std::string_view::npos) ++begin;
    return begin;
  }

  /// Line and column of a byte, counted on from the last one, in characters.
  Place place_of(std::size_t byte) {
    if (byte < counted_) counted_ = 0, line_ = 1, column_ = 1;
    for (; counted_ < byte && counted_ < text_.size(); ++counted_) {
      const bool begins_character = (static_cast<unsigned char>(text_[counted_]) & 0xC0) != 0x80;
      if (text_[counted_] == '\n')
        ++line_, column_ = 1;
      else if (begins_character)
        ++column_;
    }
    return {source_, line_, column_};
  }

  YamlNode node_at(std::size_t begin, YamlNode::Kind kind) {
    YamlNode node;
    node.kind = kind;
    node.place = node.key_place = place_of(begin);
    token_end_ = *taken_;
    if (++values_ > most_values) fail_at(node.place, "more than {} values", most_values);
    return node;
  }

  bool add_number() {
    const std::size_t begin = begin_token();
    std::size_t end = begin;
    while (end < text_.size() && (is_letter(text_[end]) || (text_[end] >= '0' && text_[end] <= '9') ||
                                  std::string_view("+-.").find(text_[end]) != std::string_view::npos))
      ++end;
    YamlNode node = node_at(begin, YamlNode::Kind::scalar);
    node.text = text_.substr(begin, end - begin);
    token_end_ = end;
    return add(std::move(node));
  }

  bool open(YamlNode::Kind kind) {
    YamlNode node = node_at(begin_token(), kind);
    if (std::ssize(open_) >= deepest_nesting)
      fail_at(node.place, "more than {} lists and mappings inside each other", deepest_nesting);
    open_.push_back({std::move(node), {}, {}, {}});
    return true;
  }

  bool close() {
    token_end_ = *taken_;
    YamlNode closed = std::move(open_.back().node);
    open_.pop_back();
    return add(std::move(closed));
  }

  bool add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (OpenNode& parent = open_.back(); parent.node.kind == YamlNode::Kind::list) {
      parent.node.items.push_back(std::move(node));
    } else {
      node.key_place = parent.key_place;
      parent.node.entries.push_back({*parent.key, std::move(node)});
      parent.key.reset();
    }
    return true;
  }

  std::string_view text_;
  std::shared_ptr<const SourceText> source_;
  const std::size_t* taken_;
  std::vector<OpenNode> open_;
  YamlNode root_;
  std::size_t token_end_ = 0;
  std::int64_t values_ = 0;
  std::size_t counted_ = 0;
  std::int64_t line_ = 1;
  std::int64_t column_ = 1;
};

}  // namespace

YamlNode parse_json(std::string_view text, SourceText source) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  source.lines = lines_of(text);
  const std::string plain = without_python_constants(text);
  std::size_t taken = 0;
  JsonTreeBuilder builder(text, std::make_shared<const SourceText>(std::move(source)), &taken);
  nlohmann::json::sax_parse(CountingIterator(plain.data(), &taken),
                            CountingIterator(plain.data() + plain.size(), &taken), &builder);
  return builder.take_root();
}

}  // namespace hybridkv
