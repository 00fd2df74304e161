// Loads and stores of the program that C++ does for it, each in one access of its size as the program's own is. One that faults changes
// nothing and says so: the program's instruction runs another way then, and meets the fault itself.
#pragma once

#include <cstdint>

namespace zs::engine {

struct InPlaceAccess {
  std::uint64_t value;  // loaded, zero-extended
  std::uint64_t done;   // 0: refused
};

extern "C" {
extern const char zs_in_place_access_begin, zs_in_place_access_end, zs_in_place_access_refused;
InPlaceAccess zs_in_place_load1(std::uint64_t address);
InPlaceAccess zs_in_place_load2(std::uint64_t address);
InPlaceAccess zs_in_place_load4(std::uint64_t address);
InPlaceAccess zs_in_place_load8(std::uint64_t address);
InPlaceAccess zs_in_place_store1(std::uint64_t address, std::uint64_t value);
InPlaceAccess zs_in_place_store2(std::uint64_t address, std::uint64_t value);
InPlaceAccess zs_in_place_store4(std::uint64_t address, std::uint64_t value);
InPlaceAccess zs_in_place_store8(std::uint64_t address, std::uint64_t value);
InPlaceAccess zs_in_place_load16(std::uint64_t address, void* to);
InPlaceAccess zs_in_place_store16(std::uint64_t address, const void* from);
}

/// Whether a fault at `pc` is one of these.
inline bool is_in_place_access(std::uint64_t pc) {
  return pc >= reinterpret_cast<std::uint64_t>(&zs_in_place_access_begin) &&
         pc < reinterpret_cast<std::uint64_t>(&zs_in_place_access_end);
}

/// `bytes`: 1, 2, 4, 8.
inline InPlaceAccess load_in_place(std::uint64_t address, unsigned bytes) {
  switch (bytes) {
    case 1: return zs_in_place_load1(address);
    case 2: return zs_in_place_load2(address);
    case 4: return zs_in_place_load4(address);
    default: return zs_in_place_load8(address);
  }
}
inline bool store_in_place(std::uint64_t address, std::uint64_t value, unsigned bytes) {
  switch (bytes) {
    case 1: return zs_in_place_store1(address, value).done != 0;
    case 2: return zs_in_place_store2(address, value).done != 0;
    case 4: return zs_in_place_store4(address, value).done != 0;
    default: return zs_in_place_store8(address, value).done != 0;
  }
}

}  // namespace zs::engine
