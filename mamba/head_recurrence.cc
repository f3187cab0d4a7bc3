#include "mamba/head_recurrence.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace hybridkv {

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;
/// Running sums of log decays. In double, because exponents are differences of them: the sums grow with the chunk, and
/// in float the difference of two large neighbours would keep the rounding of both.
using Sums = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Rows = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

Rows rows(const HeadRows& table, std::int64_t tokens, std::int64_t width) {
  return Rows(table.data, tokens, width, Eigen::OuterStride<>(table.stride));
}

/// Running sums down the rows.
Sums running_sum(const Rows& values) {
  Sums sum = values.cast<double>();
  for (Eigen::Index row = 1; row < sum.rows(); ++row) sum.row(row) += sum.row(row - 1);
  return sum;
}

/// Tokens whose pairs are decayed one by one where decays differ by channel; farther pairs meet at the block's start.
constexpr Eigen::Index block_tokens = 16;

/// The products a_t · b_s of all s <= t, each decayed from s to t; zero above the diagonal.
Matrix decayed_products(const Rows& a, const Rows& b, const Sums& sum) {
  const Eigen::Index tokens = a.rows();
  Matrix result = Matrix::Zero(tokens, tokens);
  if (sum.cols() == 1) {
    result.noalias() = a * b.transpose();
    for (Eigen::Index t = 0; t < tokens; ++t) {
      for (Eigen::Index s = 0; s <= t; ++s) result(t, s) *= std::exp(static_cast<float>(sum(t, 0) - sum(s, 0)));
      result.row(t).tail(tokens - t - 1).setZero();
    }
    return result;
  }
  for (Eigen::Index first = 0; first < tokens; first += block_tokens) {
    const Eigen::Index count = std::min(block_tokens, tokens - first);
    const auto meeting = sum.row(first).array();
    const Matrix late = a.middleRows(first, count).array() *
                        (sum.middleRows(first, count).array().rowwise() - meeting).cast<float>().exp();
    const Matrix early =
        b.topRows(first).array() * (-(sum.topRows(first).array().rowwise() - meeting)).cast<float>().exp();
    result.block(first, 0, count, first).noalias() = late * early.transpose();
    for (Eigen::Index t = first; t < first + count; ++t)
      for (Eigen::Index s = first; s <= t; ++s)
        result(t, s) =
            (a.row(t).array() * b.row(s).array() * (sum.row(t) - sum.row(s)).cast<float>().array().exp()).sum();
  }
  return result;
}

/// Rows scaled by e^exponent, an exponent a row or one an element.
Matrix scaled(const Rows& values, const Sums& exponents) {
  if (exponents.cols() == 1) return values.array().colwise() * exponents.col(0).cast<float>().array().exp();
  return values.array() * exponents.cast<float>().array().exp();
}

/// What `read` finds in the state before each token of a generalised delta rule: the products of token t with those
/// before it are decayed until t - 1, so they stand in row t - 1 of those of the rows moved up by one.
Matrix read_before(const Rows& read, const Rows& write, const Rows& key, const Rows& value, const Sums& sum,
                   const Matrix& state) {
  const Eigen::Index later = read.rows() - 1;
  Matrix next = Matrix::Zero(read.rows(), read.cols());
  next.topRows(later) = read.bottomRows(later);
  const Rows moved(next.data(), next.rows(), next.cols(), Eigen::OuterStride<>(next.cols()));
  Matrix found(read.rows(), value.cols());
  found.row(0).noalias() = read.row(0) * state.transpose();
  const Matrix given = scaled(moved, sum) * state.transpose() + decayed_products(moved, key, sum) * value;
  found.bottomRows(later) = given.topRows(later);
  Matrix system = Matrix::Zero(read.rows(), read.rows());
  system.bottomRows(later) = -decayed_products(moved, write, sum).topRows(later);
  system.triangularView<Eigen::UnitLower>().solveInPlace(found);
  return found;
}

}  // namespace

void run_head_chunk(const HeadChunk& chunk, float* state) {
  const Rows query = rows(chunk.query, chunk.tokens, chunk.key_dim);
  const Rows key = rows(chunk.key, chunk.tokens, chunk.key_dim);
  const Rows value = rows(chunk.value, chunk.tokens, chunk.value_dim);
  Eigen::Map<Matrix> s(state, chunk.value_dim, chunk.key_dim);
  Eigen::Map<Matrix, 0, Eigen::OuterStride<>> output(chunk.output, chunk.tokens, chunk.value_dim,
                                                      Eigen::OuterStride<>(chunk.output_stride));
  const Sums sum = running_sum(rows(chunk.log_decay, chunk.tokens, chunk.decays_by_channel ? chunk.key_dim : 1));

  Matrix added = value;  // U: what each token adds to the state along its key
  if (chunk.beta) {
    const Eigen::Map<const Vector> beta(chunk.beta, chunk.tokens);
    added.noalias() -= scaled(key, sum) * s.transpose();
    added.array().colwise() *= beta.array();
    Matrix system = decayed_products(key, key, sum);
    system.array().colwise() *= beta.array();
    system.triangularView<Eigen::UnitLower>().solveInPlace(added);
  }
  output.noalias() = scaled(query, sum) * s.transpose();
  output.noalias() += decayed_products(query, key, sum) * added;

  const Sums to_end = (-sum).rowwise() + sum.row(chunk.tokens - 1);
  Matrix moved = Matrix::Zero(chunk.value_dim, chunk.key_dim);  // what a generalised rule moves from key to key
  if (chunk.read.data) {
    const Rows write = rows(chunk.write, chunk.tokens, chunk.key_dim);
    const Matrix found = read_before(rows(chunk.read, chunk.tokens, chunk.key_dim), write, key, value, sum, s);
    output.noalias() += decayed_products(query, write, sum) * found;
    moved.noalias() = found.transpose() * scaled(write, to_end);
  }
  if (chunk.decays_by_channel)
    s.array().rowwise() *= sum.row(chunk.tokens - 1).cast<float>().array().exp();
  else
    s *= std::exp(static_cast<float>(sum(chunk.tokens - 1, 0)));
  s.noalias() += added.transpose() * scaled(key, to_end);
  s += moved;
}

}  // namespace hybridkv
