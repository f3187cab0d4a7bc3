#include "layout/bounded_sum.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/checked.h"

namespace hybridkv {

namespace {

__extension__ typedef unsigned __int128 Wide;

/// x with value * x == 1 modulo `modulus`, by Euclid's algorithm. Pre: they have no common factor, modulus > 0.
std::int64_t inverse(std::int64_t value, std::int64_t modulus) {
  std::int64_t old_rest = value % modulus, rest = modulus, old_factor = 1, factor = 0;
  while (rest != 0) {
    const std::int64_t quotient = old_rest / rest;
    old_rest = std::exchange(rest, old_rest - quotient * rest);
    old_factor = std::exchange(factor, old_factor - quotient * factor);
  }
  return old_factor < 0 ? old_factor + modulus : old_factor;
}

std::int64_t product_modulo(std::int64_t a, std::int64_t b, std::int64_t modulus) {
  return static_cast<std::int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) % static_cast<Wide>(modulus));
}

/// total * part / whole, rounded down. Pre: 0 <= part <= whole, whole > 0, total >= 0.
std::int64_t proportion(std::int64_t total, std::int64_t part, std::int64_t whole) {
  return static_cast<std::int64_t>(static_cast<Wide>(total) * static_cast<Wide>(part) / static_cast<Wide>(whole));
}

/// Terms that together reach every multiple of `step` from 0 to step * bound, and nothing else.
struct TermRow {
  struct Member {
    std::size_t term;
    std::int64_t multiple;  ///< coefficient / step
    std::int64_t bound;
  };
  std::int64_t step;
  std::int64_t bound;
  std::vector<Member> members;  ///< ascending; each multiple at most 1 more than what those before it reach

  bool takes(std::int64_t coefficient) const {
    return coefficient % step == 0 && coefficient / step - 1 <= bound;
  }
  void add(std::size_t term, std::int64_t coefficient, std::int64_t count) {
    members.push_back({term, coefficient / step, count});
    bound = Checked(bound) + Checked(coefficient / step) * count;
  }
  /// Writes the x of its members that together make `value` steps. Largest first leaves what the rest can reach.
  void hand_out(std::int64_t value, std::vector<std::int64_t>& x) const {
    for (auto member = members.rbegin(); member != members.rend(); ++member) {
      x[member->term] = std::min(member->bound, value / member->multiple);
      value -= x[member->term] * member->multiple;
    }
  }
};

/// Rows by ascending step. Terms that cannot change the sum are left out.
std::vector<TermRow> rows_of(std::span<const BoundedTerm> terms) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (terms[i].coefficient > 0 && terms[i].bound > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return terms[a].coefficient < terms[b].coefficient; });
  std::vector<TermRow> rows;
  for (const std::size_t i : order) {
    const auto [coefficient, bound] = terms[i];
    auto row = std::find_if(rows.begin(), rows.end(), [&](const TermRow& known) { return known.takes(coefficient); });
    if (row == rows.end()) row = rows.insert(rows.end(), TermRow{coefficient, 0, {}});
    row->add(i, coefficient, bound);
  }
  return rows;
}

/// Depth-first search for a value of each row, largest step first.
class BoundSearch {
 public:
  BoundSearch(const std::vector<TermRow>& rows, std::int64_t max_nodes)
      : rows_(rows), nodes_left_(max_nodes), largest_(rows.size() + 1), divisor_(rows.size() + 1), value_(rows.size()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      largest_[i + 1] = Checked(largest_[i]) + Checked(rows[i].step) * rows[i].bound;
      divisor_[i + 1] = std::gcd(divisor_[i], rows[i].step);
    }
  }

  /// Whether the first `count` rows reach `rest`, >= 0.
  Answer reach(std::size_t count, std::int64_t rest) {
    if (rest > largest_[count]) return Answer::no;
    if (count == 0) return Answer::yes;
    if (rest % divisor_[count] != 0) return Answer::no;
    const TermRow& row = rows_[count - 1];
    const std::int64_t last = std::min(row.bound, rest / row.step);
    const std::int64_t below = largest_[count - 1];
    const std::int64_t least = rest > below ? ceil_div(rest - below, row.step) : 0;
    const auto [first, stride] = dividing_values(count, rest, least);
    if (first > last) return Answer::no;
    // From the value that takes its share of the rest outwards: sums that meet at all often meet there.
    const std::int64_t num_values = (last - first) / stride + 1;
    const std::int64_t share = proportion(row.bound, rest, largest_[count]);
    const std::int64_t middle = std::clamp<std::int64_t>((share - first) / stride, 0, num_values - 1);
    for (std::uint64_t step = 0; step < 2 * static_cast<std::uint64_t>(num_values); ++step) {
      const auto distance = static_cast<std::int64_t>((step + 1) / 2);
      const std::int64_t choice = step % 2 == 0 ? middle - distance : middle + distance;
      if (choice < 0 || choice >= num_values) continue;
      if (nodes_left_-- <= 0) return Answer::unknown;
      value_[count - 1] = first + choice * stride;
      const Answer answer = reach(count - 1, rest - value_[count - 1] * row.step);
      if (answer != Answer::no) return answer;
    }
    return Answer::no;
  }
  std::int64_t value(std::size_t row) const { return value_[row]; }

 private:
  struct Values {
    std::int64_t first;
    std::int64_t stride;
  };
  /// The values of the last of `count` rows, from `least` on, that leave a rest which the rows below divide.
  Values dividing_values(std::size_t count, std::int64_t rest, std::int64_t least) const {
    const std::int64_t below = divisor_[count - 1];
    if (below == 0) return {rest / rows_[count - 1].step, 1};
    const std::int64_t common = divisor_[count];
    const std::int64_t stride = below / common;
    const std::int64_t solution =
        product_modulo(rest / common % stride, inverse(rows_[count - 1].step / common, stride), stride);
    const std::int64_t ahead = solution - least % stride;
    return {Checked(least) + (ahead < 0 ? ahead + stride : ahead), stride};
  }

  const std::vector<TermRow>& rows_;
  std::int64_t nodes_left_;
  std::vector<std::int64_t> largest_;  ///< [i]: largest sum of the first i rows
  std::vector<std::int64_t> divisor_;  ///< [i]: greatest common divisor of the first i steps, 0 for none
  std::vector<std::int64_t> value_;    ///< of each row, in its steps
};

}  // namespace

BoundedSum find_bounded_sum(std::span<const BoundedTerm> terms, std::int64_t target, std::int64_t max_nodes) {
  for (const BoundedTerm& term : terms)
    expects(term.coefficient >= 0 && term.bound >= 0, "coefficients and bounds are not negative");
  if (target < 0) return {};
  const std::vector<TermRow> rows = rows_of(terms);
  BoundSearch search(rows, max_nodes);
  BoundedSum result{search.reach(rows.size(), target), {}};
  if (result.reachable == Answer::yes) {
    result.x.assign(terms.size(), 0);
    for (std::size_t row = 0; row < rows.size(); ++row) rows[row].hand_out(search.value(row), result.x);
  }
  return result;
}

}  // namespace hybridkv
