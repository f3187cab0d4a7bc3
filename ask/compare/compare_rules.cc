#include "ask/compare/compare_rules.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace hybridkv {

namespace {

/// Beyond it nobody follows a chain of rules.
constexpr std::size_t most_rules = 8;

/// What rules write short, and the symbol of its decision.
constexpr std::pair<std::string_view, std::string_view> short_symbols[] = {
    {"ids", "block ids of one request"},
    {"bytes", "bytes of one request"},
    {"ideal", "ideal bytes of one request"},
    {"usable", "usable blocks"},
    {"max_concurrency", "max concurrency"},
    {"by concurrency", "KV cache tokens by concurrency"},
    {"by floor", "KV cache tokens by floor"},
    {"smallest prefix", "smallest prefix that can hit"},
    {"page", "P"},
    {"ids of one token", "block ids of a request of one token"},
    {"unpadded", "unpadded page"},
    {"c", "checkpoint blocks"},
    {"tails", "tails of last blocks at the load"},
    {"short packs", "short last packs at the load"},
};

ComparedValue value_of(const Term& term) {
  return std::visit([](const auto& value) -> ComparedValue { return value; }, term.value);
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "a1" is "a1 (full_attention)", "padding" is "padding of …", "state padding" is "state padding at the load".
bool continues(std::string_view word, std::string_view decided) {
  if (!decided.starts_with(word)) return false;
  const std::string_view rest = decided.substr(word.size());
  return rest.empty() || rest.starts_with(" (") || rest.starts_with(" of ") || rest == " at the load";
}

/// Does a rule that writes `symbol` mean the decision called `decided`? "groups 0" is "groups of spec 0 (gdn)".
bool names(std::string_view symbol, std::string_view decided) {
  if (continues(symbol, decided)) return true;
  for (const auto& [written, meant] : short_symbols)
    if (symbol == written && continues(meant, decided)) return true;
  const std::size_t space = symbol.rfind(' ');
  if (space == std::string_view::npos || !is_number(symbol.substr(space + 1))) return false;
  std::string what(symbol.substr(0, space));
  if (what == "ids") what = "block ids of a group";
  return decided.starts_with(what + " of spec " + std::string(symbol.substr(space + 1)) + " (");
}

bool is_among(const std::vector<std::string>& symbols, const std::string& symbol) {
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

/// The k-th input of that symbol; null where there are fewer.
const Term* input_of(const Decision& decision, const std::string& symbol, std::size_t k) {
  for (const Term& input : decision.inputs)
    if (input.symbol == symbol && k-- == 0) return &input;
  return nullptr;
}

}  // namespace

/// Follows the origins of what differs.
class RowRules::Chain {
 public:
  explicit Chain(const RowRules& rows) : rows_(rows) {}

  /// `is_root`: these decisions are those of the row itself, which counts as different also where only some settings
  /// have such a number.
  void follow(Decisions decisions, bool is_root = false) {
    if (found_.size() >= most_rules || std::find(seen_.begin(), seen_.end(), decisions) != seen_.end()) return;
    seen_.push_back(decisions);
    const std::vector<Input> inputs = differing_inputs(decisions);
    ComparedRule rule = compared(decisions, inputs);
    if (rule.symbol.empty() || !(differs(rule) || (is_root && is_partial(decisions)))) return;
    found_.push_back(std::move(rule));
    for (const Input& input : inputs) {
      Decisions origins = rows_.meant_by(origins_of(decisions, input), {});
      if (!has_row(origins)) follow(std::move(origins));
    }
  }

  std::vector<ComparedRule> take() { return std::move(found_); }

 private:
  struct Input {
    ComparedInput compared;
    std::size_t k = 0;  // which of several of that symbol
  };

  /// Have only some of the settings that are planned taken the decision?
  bool is_partial(const Decisions& decisions) const {
    for (std::size_t i = 0; i < decisions.size(); ++i)
      if (decisions[i] == nullptr && rows_.derivations_[i].derivation != nullptr) return true;
    return false;
  }

  bool has_row(const Decisions& decisions) const {
    return std::any_of(decisions.begin(), decisions.end(), [&](const Decision* decision) {
      return decision != nullptr && is_among(rows_.meant_, decision->result.symbol);
    });
  }

  Decisions origins_of(const Decisions& decisions, const Input& of) const {
    Decisions origins(decisions.size(), nullptr);
    for (std::size_t i = 0; i < decisions.size(); ++i)
      if (const Term* const input = decisions[i] ? input_of(*decisions[i], of.compared.symbol, of.k) : nullptr)
        origins[i] = rows_.derivations_[i].origin(*input);
    return origins;
  }

  /// The inputs in which the settings differ that took the decision. An input that only some of them have counts as
  /// different.
  static std::vector<Input> differing_inputs(const Decisions& decisions) {
    std::vector<Input> all;
    for (const Decision* const decision : decisions) {
      if (decision == nullptr) continue;
      std::map<std::string, std::size_t> met;
      for (const Term& term : decision->inputs) {
        const std::size_t k = met[term.symbol]++;
        const auto same = [&](const Input& known) { return known.compared.symbol == term.symbol && known.k == k; };
        if (std::none_of(all.begin(), all.end(), same)) all.push_back({{term.symbol, term.unit, {}}, k});
      }
    }
    std::vector<bool> absent;
    for (const Decision* const decision : decisions) absent.push_back(decision == nullptr);
    for (Input& input : all)
      for (const Decision* const decision : decisions) {
        const Term* const term = decision ? input_of(*decision, input.compared.symbol, input.k) : nullptr;
        input.compared.values.push_back(term ? value_of(*term) : ComparedValue());
      }
    std::erase_if(all, [&](const Input& input) { return !values_differ(input.compared.values, absent); });
    return all;
  }

  static ComparedRule compared(const Decisions& decisions, const std::vector<Input>& inputs) {
    ComparedRule rule;
    for (const Decision* const decision : decisions) {
      rule.values.push_back(decision ? value_of(decision->result) : ComparedValue());
      rule.rules.push_back(decision ? decision->rule : std::string());
      rule.sources.push_back(decision ? decision->source : std::string());
      if (decision == nullptr || !rule.symbol.empty()) continue;
      rule.symbol = decision->result.symbol;
      rule.unit = decision->result.unit;
    }
    for (const Input& input : inputs) rule.inputs.push_back(input.compared);
    return rule;
  }

  static bool differs(const ComparedRule& rule) {
    std::vector<bool> absent;
    std::vector<ComparedValue> texts;
    for (const std::string& text : rule.rules) {
      absent.push_back(text.empty());
      texts.emplace_back(text);
    }
    return !rule.inputs.empty() || values_differ(texts, absent) || values_differ(rule.values, absent);
  }

  const RowRules& rows_;
  std::vector<Decisions> seen_;
  std::vector<ComparedRule> found_;
};

bool values_differ(const std::vector<ComparedValue>& values, const std::vector<bool>& refused) {
  const ComparedValue* first = nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (refused[i]) continue;
    if (first == nullptr) first = &values[i];
    if (values[i] != *first) return true;
  }
  return false;
}

std::span<const Decision> ComparedDerivation::of_length() const {
  const auto is_length = [](const Decision& decision) { return decision.result.symbol == "length"; };
  const std::span<const Decision> all(*derivation);
  const auto begin = std::find_if(all.begin(), all.end(), [&](const Decision& decision) {
    return is_length(decision) && decision.result.value == decltype(decision.result.value)(tokens);
  });
  if (begin == all.end()) return {};
  const auto end = std::find_if(begin + 1, all.end(), is_length);
  return all.subspan(static_cast<std::size_t>(begin - all.begin()), static_cast<std::size_t>(end - begin));
}

const Decision* ComparedDerivation::find(const std::string& symbol) const {
  if (derivation == nullptr || symbol.empty()) return nullptr;
  const auto called = [&](const Decision& decision) { return decision.result.symbol == symbol; };
  const std::span<const Decision> nearer = of_length();
  if (const auto found = std::find_if(nearer.begin(), nearer.end(), called); found != nearer.end()) return &*found;
  const auto found = std::find_if(derivation->begin(), derivation->end(), called);
  return found == derivation->end() ? nullptr : &*found;
}

const Decision* ComparedDerivation::origin(const Term& input) const {
  if (derivation == nullptr) return nullptr;
  const auto meant = [&](const Decision& decision) {
    return decision.result.value == input.value && names(input.symbol, decision.result.symbol);
  };
  const std::span<const Decision> nearer = of_length();
  if (const auto found = std::find_if(nearer.begin(), nearer.end(), meant); found != nearer.end()) return &*found;
  const auto found = std::find_if(derivation->begin(), derivation->end(), meant);
  return found == derivation->end() ? nullptr : &*found;
}

RowRules::RowRules(std::vector<ComparedDerivation> derivations, std::vector<RowSymbols> rows)
    : derivations_(std::move(derivations)), rows_(std::move(rows)) {
  for (const RowSymbols& row : rows_)
    if (!row.is_part) roots_.insert(roots_.end(), row.symbols.begin(), row.symbols.end());
  meant_ = roots_;
  for (std::size_t row = 0; row < rows_.size(); ++row)
    for (const Decision* const decision : meant_by(roots_of(row), {}))
      if (decision != nullptr && !rows_[row].is_part) meant_.push_back(decision->result.symbol);
}

RowRules::Decisions RowRules::roots_of(std::size_t row) const {
  Decisions roots;
  for (std::size_t i = 0; i < derivations_.size(); ++i)
    roots.push_back(derivations_[i].find(rows_.at(row).symbols.at(i)));
  return roots;
}

RowRules::Decisions RowRules::meant_by(Decisions decisions, const std::vector<std::string>& stops) const {
  constexpr int longest = 4;
  for (std::size_t i = 0; i < decisions.size(); ++i)
    for (int links = 0; decisions[i] != nullptr && links < longest; ++links) {
      const Decision& decision = *decisions[i];
      if (decision.inputs.size() != 1 || decision.inputs[0].value != decision.result.value) break;
      const Decision* const origin = derivations_[i].origin(decision.inputs[0]);
      if (origin == nullptr || origin == &decision || is_among(stops, origin->result.symbol)) break;
      decisions[i] = origin;
    }
  return decisions;
}

std::vector<ComparedRule> RowRules::of_row(std::size_t row) const {
  Chain chain(*this);
  chain.follow(meant_by(roots_of(row), roots_), true);
  return chain.take();
}

}  // namespace hybridkv
