// Multiboot, version 2: the header that a kernel brings, and the information that it finds at EBX.
// source: "Multiboot2 Specification version 2.0", sections "OS image format" and "Boot information".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace zs::machine {

inline constexpr std::uint32_t kMultiboot2Magic = 0x36D76289;  // EAX

/// Physical addresses that a header gives for a file that is no ELF.
struct LoadAddresses {
  std::uint32_t header, load, load_end, bss_end;
};

struct Multiboot2Header {
  std::size_t offset = 0;
  std::optional<LoadAddresses> addresses;
  std::optional<std::uint32_t> entry;
};

/// returns  the header, nothing if the first 32768 bytes have none, or an error that names what it asks for and this
///          loader has not
Result<std::optional<Multiboot2Header>> find_multiboot2(Bytes file, const std::string& name);

/// One available range or, with `type` 2, a reserved one.
struct MapRange {
  std::uint64_t base, length;
  std::uint32_t type, reserved = 0;
};
static_assert(WireLayout<MapRange> && sizeof(MapRange) == 24);

struct LoadedModule {
  std::uint32_t start, end;
  std::string command_line;
};

/// What EBX leads to.
std::vector<std::byte> multiboot2_info(const std::string& command_line, std::uint32_t upper_kib,
                                       const std::vector<MapRange>& map, const std::vector<LoadedModule>& modules);

}  // namespace zs::machine
