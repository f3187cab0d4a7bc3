#include "base/shell_split.h"

#include <algorithm>

#include "base/error.h"

namespace hybridkv {

namespace {

constexpr std::string_view separators = ";&|<>\n";

class ShellSplitter {
 public:
  explicit ShellSplitter(std::string_view text) : text_(text) {}

  std::vector<std::string> words() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\'' || c == '"') quoted(c);
      else if (c == '\\') escaped();
      else if (c == '#' && !open_) at_ = std::min(text_.find('\n', at_), text_.size());
      else if (separators.find(c) != std::string_view::npos) separator(c);
      else if (c == ' ' || c == '\t' || c == '\r') end_word(), ++at_;
      else add(c), ++at_;
    }
    end_word();
    return std::move(words_);
  }

 private:
  void add(char c) {
    word_ += c;
    open_ = true;
  }
  void end_word() {
    if (open_) words_.push_back(std::move(word_));
    word_.clear();
    open_ = false;
  }
  void quoted(char quote) {
    const std::size_t begin = at_++;
    open_ = true;  // "" is a word
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      const bool escapes = quote == '"' && text_[at_] == '\\' && at_ + 1 < text_.size() &&
                           std::string_view("\"\\$`").find(text_[at_ + 1]) != std::string_view::npos;
      if (escapes) ++at_;
      add(text_[at_]);
    }
    if (at_ == text_.size())
      throw InputError("the quote " + std::string(text_.substr(begin, 12)) + "... is never closed");
    ++at_;
  }
  void escaped() {
    ++at_;
    if (at_ < text_.size() && text_[at_] == '\r') ++at_;
    if (at_ < text_.size() && text_[at_] != '\n') add(text_[at_]);
    if (at_ < text_.size()) ++at_;
  }
  void separator(char c) {
    end_word();
    const std::size_t begin = at_;
    while (at_ < text_.size() && text_[at_] == c && c != '\n') ++at_;
    if (c == '\n') ++at_;
    words_.emplace_back(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool open_ = false;
  std::vector<std::string> words_;
};

}  // namespace

std::vector<std::string> shell_split(std::string_view text) { return ShellSplitter(text).words(); }

}  // namespace hybridkv
