// Where the data of a sampled access was, apart from how any generation of PEBS records encodes it.
#pragma once

#include <cstdint>

namespace zs::arch {

enum class DataLevel : std::uint8_t {
  Unknown,
  L1,
  FillBuffer,  // on its way to L1D when the access came
  L2,
  L3,
  Dram,
};

enum class DataSnoop : std::uint8_t {
  None,  // no other core was asked
  Miss,  // asked, found nothing
  Hit,   // another core had it clean
  Hitm,  // another core had it modified
};

enum class DataTlb : std::uint8_t {
  Unknown,
  L1,    // hit
  Stlb,  // hit in the second level
  Walk,
};

enum class DataBlock : std::uint8_t {
  None,
  Data,     // an older store could not forward
  Address,  // 4K alias
};

struct DataSource {
  DataLevel level = DataLevel::Unknown;
  DataSnoop snoop = DataSnoop::None;
  DataTlb tlb = DataTlb::Unknown;
  DataBlock block = DataBlock::None;
  bool locked = false;
  bool store = false;
  bool operator==(const DataSource&) const = default;
};

}  // namespace zs::arch
