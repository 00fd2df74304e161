// Reads a PEBS record of any format: what a driver does with it, and the check that the writer wrote what it meant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "arch/records/pebs.h"
#include "arch/retired.h"
#include "base/bytes.h"

namespace zs::arch {

/// One record without its vector registers and branches, which are five times as much; what its format or groups leave
/// out is 0.
struct PebsWords {
  std::size_t size = 0;  // bytes that it took
  PebsDataCfg groups;    // of an adaptive record, its PEBS_DATA_CFG
  RegisterFile registers;
  std::uint64_t status = 0;       // formats 1 and 2: IA32_PERF_GLOBAL_STATUS before the assist
  std::uint64_t counters = 0;     // format 3 and later: applicable counters
  std::uint64_t eventing_ip = 0;  // format 2 and later
  std::uint64_t tsc = 0;          // format 3 and later
  std::uint64_t data_address = 0, data_source = 0, latency = 0, transaction = 0;
};

/// And with them.
struct PebsFields : PebsWords {
  PebsXmms xmms{};
  std::array<PebsLbr, kMaxPebsLbrs> lbrs{};
  unsigned lbr_count = 0;
};

/// Where the groups of an adaptive record lie, from its first byte. A group that it does not have has no place.
struct AdaptivePlaces {
  std::size_t size = 0;
  PebsDataCfg groups;
  std::size_t memory = 0, gprs = 0, xmms = 0, lbrs = 0;
  unsigned lbr_count = 0;
};

/// Of the record that `bytes` begin with; nothing if they are too few, or its size is not what its groups need.
std::optional<AdaptivePlaces> adaptive_places(Bytes bytes);

/// The record that `bytes` begin with; more may follow. Nothing if they are too few, or if an adaptive record's size is
/// not what its groups need.
std::optional<PebsFields> decode_pebs(Bytes bytes, PebsFormat format, DsLayout layout);

/// The same for whoever needs no more, of each of thousands of records. returns whether there is one; else `words` says
/// nothing
bool decode_pebs(Bytes bytes, PebsFormat format, DsLayout layout, PebsWords& words);

}  // namespace zs::arch
