#include "clock/least_squares.h"

#include <Eigen/Dense>

#include <algorithm>

namespace hybridkv {

namespace {

constexpr int most_rounds = 60;
constexpr int most_tries = 8;      // of a step, each shorter
constexpr double difference = 1e-4;
constexpr double enough = 1e-6;    // a round that gains a smaller share is the last

}  // namespace

std::vector<double> least_squares(std::span<const BoundedValue> values,
                                  const std::function<void(std::span<const double>, std::vector<double>&)>& residuals) {
  const auto size = static_cast<Eigen::Index>(values.size());
  std::vector<double> at, found;
  for (const BoundedValue& value : values) at.push_back(std::clamp(value.start, value.least, value.most));
  const auto residuals_at = [&](const std::vector<double>& point) {
    residuals(point, found);
    return Eigen::VectorXd(Eigen::Map<const Eigen::VectorXd>(found.data(), static_cast<Eigen::Index>(found.size())));
  };
  Eigen::VectorXd left = residuals_at(at);
  double damping = 1e-2;
  for (int round = 0; round < most_rounds; ++round) {
    Eigen::MatrixXd slopes(left.size(), size);
    for (Eigen::Index i = 0; i < size; ++i) {
      std::vector<double> beside = at;
      beside[static_cast<std::size_t>(i)] += difference;
      slopes.col(i) = (residuals_at(beside) - left) / difference;
    }
    const double before = left.squaredNorm();
    bool gained = false;
    for (int i = 0; i < most_tries && !gained; ++i) {
      Eigen::MatrixXd normal = slopes.transpose() * slopes;
      normal.diagonal() *= 1 + damping;
      const Eigen::VectorXd step = normal.ldlt().solve(-slopes.transpose() * left);
      std::vector<double> next = at;
      for (std::size_t k = 0; k < next.size(); ++k)
        next[k] = std::clamp(next[k] + step[static_cast<Eigen::Index>(k)], values[k].least, values[k].most);
      const Eigen::VectorXd there = residuals_at(next);
      gained = there.squaredNorm() < before;
      if (gained) {
        at = next;
        left = there;
      }
      damping *= gained ? 1.0 / 3 : 3;
    }
    if (!gained || before - left.squaredNorm() < enough * before) break;
  }
  return at;
}

}  // namespace hybridkv
