#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scenarios/key_table.h"
#include "scenarios/read.h"

namespace hybridkv {

/// A value of a scenario that was given several values: a list, "1..16", "16..128 step 16" or "16 GiB..80 GiB step
/// 16 GiB" where one value belongs. For keys whose one value is a list already (kernel_block_sizes), a list of lists.
struct SweepAxis {
  std::string path;                 ///< "engine.tensor_parallel"
  std::vector<std::string>
      values;  ///< as written, a range one by one, a model by its name or file; each once; "" where
               ///< the key is left out ("null" in a list), for its default
  ValueType type = ValueType::text; ///< of the key
  bool one_question = false;        ///< all commands but `sweep` answer the values together: pack sizes, lengths
  Place place;                      ///< of the list or range
};

/// Every value of the file that is given several values, in the order of the file.
/// Throws InputError: an empty list, a value twice, a range that cannot be read, more than 10,000 values.
std::vector<SweepAxis> sweep_axes(const ScenarioFile& file);

/// One of the values of an axis.
struct AxisChoice {
  std::string path;       ///< SweepAxis::path
  std::size_t value = 0;  ///< position in SweepAxis::values
};

/// Axes that are stepped through together, by their keys: the first value of one with the first of the others.
using ZippedKeys = std::vector<std::string>;

/// How the points of some axes are counted: the first axis is the slowest, zipped ones stand where the first of them
/// does. An axis has the value (point / stride) modulo the number of its values.
struct AxisSteps {
  std::vector<std::int64_t> strides;  ///< (axis) points from one value to the next
  std::int64_t num_points = 1;
};

/// The steps of the axes. A zipped key may be written by its last word alone.
/// Throws InputError: a zipped key that varies nowhere or stands in two zips, one key alone, or as many values as
/// another of its zip has not; and more points than 64 bits count.
AxisSteps axis_steps(const std::vector<SweepAxis>& axes, const std::vector<ZippedKeys>& zips = {});

/// The file with the chosen value in place of the several, and its places: for few points, which are read as any
/// scenario is. What is not chosen stays as it is. Pre: the choices are of sweep_axes(file). Throws as sweep_axes.
ScenarioFile with_values(const ScenarioFile& file, const std::vector<AxisChoice>& choices);

class SweepReader;

/// All points of a scenario file whose values may be lists and ranges: the product of its axes, of which the first
/// varies slowest and zipped ones vary together. Points are numbered from 0 and made one by one (SweepReader), so their
/// number costs nothing.
///
/// Example: tensor_parallel [1, 2] and cache_mode [none, align, all] are 6 points; point 4 is 2 ranks, align.
class ScenarioSweep {
 public:
  /// Reads every value of every axis once, the other axes at their first value.
  /// Throws InputError for anything wrong in the file, and as axis_steps.
  explicit ScenarioSweep(const ScenarioFile& file, const std::vector<ZippedKeys>& zips = {});
  ~ScenarioSweep();
  ScenarioSweep(const ScenarioSweep&) = delete;
  ScenarioSweep& operator=(const ScenarioSweep&) = delete;

  const std::vector<SweepAxis>& axes() const { return axes_; }
  std::int64_t num_points() const { return num_points_; }

  /// What was assumed of the models or left unused, a sentence each, each once.
  const std::vector<std::string>& notes() const { return notes_; }

  /// Which value each axis has at a point, in the order of the axes. Pre: 0 <= point < num_points().
  std::vector<std::size_t> values_at(std::int64_t point) const;

  /// Everything that decides the points, as one text: the values of the file and the text of the model files it names.
  /// Two sweeps of equal text have the same points.
  const std::string& identity() const { return identity_; }

 private:
  friend class SweepReader;
  struct Parts;
  void keep_models(SweepReader& reader);

  std::vector<SweepAxis> axes_;
  std::int64_t num_points_ = 1;
  std::string identity_;
  std::vector<std::string> notes_;
  std::unique_ptr<Parts> parts_;
};

/// Makes the scenarios of single points. From one point to the next only the sections whose values change are read
/// again, never the YAML. One reader per thread.
class SweepReader {
 public:
  /// The sweep must outlive the reader.
  explicit SweepReader(const ScenarioSweep& sweep);
  ~SweepReader();
  SweepReader(const SweepReader&) = delete;
  SweepReader& operator=(const SweepReader&) = delete;

  /// The scenario of a point, with one pack size and one length; valid until the next call. It knows no places.
  /// Throws InputError for values that are fine one by one and cannot be read together. Pre: 0 <= point < num_points().
  const Scenario& at(std::int64_t point);

 private:
  struct State;
  const ScenarioSweep& sweep_;
  std::unique_ptr<State> state_;
};

}  // namespace hybridkv
