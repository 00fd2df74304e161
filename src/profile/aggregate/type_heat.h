// How hot each field of each type is: what annotate --data-type shows.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "profile/aggregate/heat.h"
#include "profile/perf_data/perf_data_reader.h"
#include "profile/symbols/symbolizer.h"
#include "profile/types/access_types.h"
#include "profile/types/field_order.h"

namespace zs::profile {

/// Accesses to a field, to a hole, or to a type.
struct AccessHeat {
  Heat loads, stores;

  void add(const AccessHeat& more);
  std::uint64_t samples() const { return loads.samples + stores.samples; }
};

struct TypeHeat {
  std::string name;
  DataTypes* types = nullptr;
  DataTypes::Type type = 0;
  std::string image;  // the first that had it
  AccessHeat whole;
  std::map<std::uint64_t, AccessHeat> bytes;  // by offset of the access
  Visits visits;
};

struct TypeHeats {
  std::vector<TypeHeat> types;  // structs; that with the most cycles of loads first, then with the most samples
  /// Samples: all, of data of known type, of the stack by instructions that keep it.
  std::uint64_t samples = 0, known = 0, stack = 0;
};

class TypeHeatReader {
 public:
  /// symbolizer  must outlive this
  explicit TypeHeatReader(Symbolizer& symbolizer) : symbolizer_(symbolizer), types_(symbolizer) {}

  /// chosen: loads of a program for each of its stores, where only a part of the loads is counted.
  static constexpr double kLoadsPerStore = 2;
  /// Valid as long as this.
  TypeHeats read(const PerfDataReader& reader);

 private:
  Symbolizer& symbolizer_;
  AccessTypes types_;
  AddressSpaces spaces_;
};

}  // namespace zs::profile
