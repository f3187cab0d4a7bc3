#include "planner/view_places.h"

#include <map>
#include <string_view>
#include <tuple>

namespace hybridkv {

namespace {

// Spec, lane, layer, and where a group has one tensor of a state its name.
using PlaceOfLayer = std::tuple<std::int64_t, LaneId, std::int64_t, std::string_view>;

std::map<PlaceOfLayer, ViewPlace> places_of_layers(const CachePlan& plan) {
  std::map<PlaceOfLayer, ViewPlace> places;
  ViewPlace at;
  for (std::size_t i = 0; i < plan.groups.size(); ++i) {
    const GroupPlan& group = plan.groups[i];
    at.group = static_cast<std::int64_t>(i);
    if (!group.shares_table) at.table = at.group;
    for (std::size_t page = 0; page < group.pages.size(); ++page) {
      at.page = static_cast<std::int64_t>(page);
      const std::string_view tensor = group.tensor ? std::string_view(plan.tensors_of(group).front().name) : "";
      for (std::int64_t layer : group.pages[page])
        places.emplace(PlaceOfLayer{group.spec, plan.lane_of(group, page), layer, tensor}, at);
    }
  }
  return places;
}

}  // namespace

std::vector<ViewPlace> view_places(const CachePlan& plan) {
  const std::map<PlaceOfLayer, ViewPlace> places = places_of_layers(plan);
  std::vector<ViewPlace> of_views;
  of_views.reserve(plan.views.size());
  for (const ViewPlan& view : plan.views) {
    auto place = places.find({view.spec, view.lane, view.layer, view.tensor});
    if (place == places.end()) place = places.find({view.spec, view.lane, view.layer, ""});
    expects(place != places.end(), "a view of the plan belongs to a group");
    of_views.push_back(place->second);
  }
  return of_views;
}

}  // namespace hybridkv
