// Turns the bytes of one record of a perf.data file into a Record. Nothing in them is trusted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "profile/perf_data/file_events.h"
#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/records.h"

namespace zs::profile {

/// "sample", "COMM record": as messages call a record of that type.
std::string_view record_name(std::uint32_t type);

class RecordDecoder {
 public:
  /// All must outlive the decoder; `name` is what messages call the place of a record.
  RecordDecoder(const std::string& name, const Bytes& records, const FileEvents& events)
      : name_(name), records_(records), events_(events) {}

  enum class Kind { Given, PassedOver };  // Given: `record` holds what for_each gives

  /// `offset` and `header` are of a whole record in the file.
  Result<Kind> decode(std::uint64_t offset, const perf::RecordHeader& header, Record& record);

  /// The event of the sample whose body begins with `body`, as far as that is there.
  Result<std::uint32_t> event_of_sample(Bytes body, std::uint64_t at) const;

 private:
  Result<std::uint32_t> event_of_trailer(Bytes body, std::uint64_t at) const;
  Result<std::uint32_t> event_or_error(std::uint64_t id, std::uint64_t at, std::string_view thing) const;
  Error failure(const ByteReader& in, std::string_view thing) const;
  Result<Kind> sample(ByteReader& in, const perf::RecordHeader& header, Record& record) const;
  static Comm comm(ByteReader& in, const perf::RecordHeader& header, const Trailer& trailer);
  static Mmap mmap(ByteReader& in, const perf::RecordHeader& header, const Trailer& trailer);

  const std::string& name_;
  const Bytes& records_;
  const FileEvents& events_;
};

}  // namespace zs::profile
