#include "transfer/token_cuts.h"

#include <algorithm>

namespace hybridkv {

namespace {

/// One table while a request's tokens are walked through.
class TokenWalk {
 public:
  TokenWalk(const TokenTable& table, const std::vector<std::int64_t>& ids, std::int64_t token)
      : ids_(ids), block_(table.block_tokens()), kernel_(table.kernel_tokens()), is_row_(table.is_row) {
    entry_ = token / block_;
    in_block_ = token % block_;
  }

  std::int64_t slot() const { return ids_[static_cast<std::size_t>(entry_)] * block_ + in_block_; }
  /// Tokens from here on that lie in a row.
  std::int64_t run() const { return is_row_ ? block_ - in_block_ : kernel_ - in_block_ % kernel_; }
  void advance(std::int64_t tokens) {
    in_block_ += tokens;
    if (in_block_ < block_) return;
    in_block_ = 0;
    ++entry_;
  }
  bool is_row() const { return is_row_; }

 private:
  const std::vector<std::int64_t>& ids_;
  std::int64_t block_, kernel_;
  bool is_row_;
  std::int64_t entry_ = 0, in_block_ = 0;
};

}  // namespace

std::int64_t first_moved_token(const TokenTables& tables, std::int64_t tokens, std::int64_t present_tokens) {
  const std::int64_t live = std::min(tables.from.spec->live_tokens(tokens), tables.to.spec->live_tokens(tokens));
  return std::max(present_tokens, tokens - live);
}

std::vector<TokenCut> cut_tokens(const TokenTables& tables, const TransferRequest& request) {
  const auto ids_of = [](const RequestTables& side, const TokenTable& table) -> const std::vector<std::int64_t>& {
    return side.ids[static_cast<std::size_t>(table.stage)][static_cast<std::size_t>(table.table)];
  };
  std::int64_t token = first_moved_token(tables, request.tokens, request.present_tokens);
  TokenWalk from(tables.from, ids_of(request.from, tables.from), token);
  TokenWalk to(tables.to, ids_of(request.to, tables.to), token);
  std::vector<TokenCut> cuts;
  while (token < request.tokens) {
    const std::int64_t count = std::min({from.run(), to.run(), request.tokens - token});
    const TokenCut cut{from.slot(), to.slot(), count};
    const auto follows = [&](const TokenCut& before) {
      return from.is_row() && to.is_row() && before.from_slot + before.tokens == cut.from_slot &&
             before.to_slot + before.tokens == cut.to_slot;
    };
    if (!cuts.empty() && follows(cuts.back()))
      cuts.back().tokens += count;
    else
      cuts.push_back(cut);
    from.advance(count);
    to.advance(count);
    token += count;
  }
  return cuts;
}

}  // namespace hybridkv
