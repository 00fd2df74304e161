// Where the fields of one event's records stand: the body of its SAMPLEs, and the trailer that other records carry.
// An attr's sample_type decides both; the order of fields is perf's and has nothing to do with the order of the bits.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/records.h"

namespace zs::profile {

/// What the trailer of a record that is no SAMPLE says; 0 where it has no such field.
struct Trailer {
  std::int32_t pid = 0, tid = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t id = 0;
  std::uint32_t cpu = 0;
};

class SampleLayout {
 public:
  explicit SampleLayout(const perf::EventAttr& attr) : attr_(attr) {}

  /// Reads the body of a SAMPLE into `record`, whose memory is reused. sample.event stays as it is.
  /// returns the field at which `in` failed, nullptr if it did not
  const char* read_sample(ByteReader& in, std::uint16_t misc, SampleRecord& record) const;

  /// Bytes of the trailer: 0 if the event's records have none.
  std::size_t trailer_bytes() const;
  Trailer read_trailer(ByteReader& in) const;

  /// Place of the id in the body of a SAMPLE, and from the end of a record with a trailer (8: the last word).
  std::optional<std::size_t> id_offset_in_sample() const;
  std::optional<std::size_t> id_offset_from_end() const;

 private:
  bool has(std::uint64_t field) const { return (attr_.sample_type & field) != 0; }
  void read_counters(ByteReader& in, std::vector<SampleRecord::Counter>& counters) const;

  perf::EventAttr attr_;
};

}  // namespace zs::profile
