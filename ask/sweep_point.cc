#include "ask/sweep_point.h"

namespace hybridkv {

std::string_view to_string(PointStatus status) {
  switch (status) {
    case PointStatus::ok: return "ok";
    case PointStatus::impossible: return "impossible";
    case PointStatus::fault: return "fault";
  }
  return "?";
}

std::optional<PointStatus> parse_point_status(std::string_view name) {
  for (const PointStatus status : {PointStatus::ok, PointStatus::impossible, PointStatus::fault})
    if (to_string(status) == name) return status;
  return std::nullopt;
}

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
