#include "ask/replay/sweep_point.h"

namespace hybridkv {

void PointCounts::add(PointStatus status) {
  ++(status == PointStatus::ok ? ok : status == PointStatus::impossible ? impossible : fault);
}

PointCounts& PointCounts::operator+=(const PointCounts& other) {
  ok += other.ok;
  impossible += other.impossible;
  fault += other.fault;
  return *this;
}

}  // namespace hybridkv
