#include "scenarios/model_name.h"

#include <algorithm>
#include <array>

#include "base/digit.h"

namespace hybridkv {

namespace {

enum class Suffix { none, variant, quantised, kv };

constexpr std::array<std::string_view, 14> variants{"instruct", "thinking",  "chat", "base",    "it",   "sft",  "dpo",
                                                    "hf",       "reasoning", "rl",   "preview", "bf16", "fp16", "text"};
constexpr std::array<std::string_view, 18> quantisers{
    "fp8", "fp4", "nvfp4",     "mxfp4",     "mxfp8", "awq",  "gptq",      "gguf", "mlx",
    "bnb", "hqq", "quantized", "quantised", "exl2",  "exl3", "autoround", "dynamic", "torchao"};


/// The text with every run of digits as one '0': "w4a16" -> "w0a0".
std::string shape_of(std::string_view text) {
  std::string shape;
  for (const char c : text) {
    if (!is_digit(c)) shape += c;
    else if (shape.empty() || shape.back() != '0') shape += '0';
  }
  return shape;
}

bool is_one_of(std::string_view word, const auto& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

Suffix kind_of(std::string_view part) {
  std::string word(part);
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (word == "kv") return Suffix::kv;
  if (is_one_of(word, variants)) return Suffix::variant;
  const std::string shape = shape_of(word);
  if (shape == "0" && word.size() == 4) return Suffix::variant;  // a date: 2507
  constexpr std::array<std::string_view, 6> shapes{"int0", "w0a0", "0bit", "g0", "gs0", "quantized.w0a0"};
  const bool is_gguf = shape.starts_with("q0_") || shape.starts_with("iq0_");  // Q4_K_M
  return is_one_of(word, quantisers) || is_one_of(shape, shapes) || is_gguf ? Suffix::quantised : Suffix::none;
}

}  // namespace

PublishedName split_published_name(std::string_view name) {
  if (const std::size_t slash = name.rfind('/'); slash != std::string_view::npos) name.remove_prefix(slash + 1);
  PublishedName parts;
  const auto put_before = [](std::string& text, std::string_view part) {
    text = std::string(part) + (text.empty() ? "" : "-") + text;
  };
  bool has_kv = false;
  for (;;) {
    const std::size_t hyphen = name.rfind('-');
    if (hyphen == std::string_view::npos || hyphen == 0) break;
    const std::string_view part = name.substr(hyphen + 1);
    const Suffix suffix = kind_of(part);
    // "KV" alone is no suffix, only behind the type of the weights.
    if (suffix == Suffix::none || (suffix == Suffix::kv && has_kv)) break;
    if (suffix == Suffix::kv) has_kv = true;
    else put_before(suffix == Suffix::variant ? parts.variant : parts.quantised, part);
    name = name.substr(0, hyphen);
  }
  parts.kv_quantised = has_kv && !parts.quantised.empty();
  parts.base = name;
  return parts;
}

}  // namespace hybridkv
