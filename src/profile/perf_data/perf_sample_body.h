// The body of a SAMPLE as we write it: the fields of its event's sample_type, in perf's order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/bytes.h"
#include "profile/perf_data/recording.h"
#include "session/sample.h"

namespace zs::profile {

/// The fields that every sample has, in their order.
struct SampleStart {
  std::uint64_t id, ip;
  std::uint32_t pid, tid;
  std::uint64_t time_ns, address;
  std::uint32_t cpu, zero;
  std::uint64_t period;
};
static_assert(WireLayout<SampleStart>);

class SampleBody {
 public:
  explicit SampleBody(const RecordingDescription& description);

  /// Appends the body to `out`, behind the header of the record, which begins at `record_at`. What would make the
  /// record longer than 65528 bytes is cut: call chain, branches and stack at their outer ends.
  /// id       of the event
  /// is_code  is told every address of code that the body has
  void write(ByteWriter& out, std::size_t record_at, const session::Sample& sample, std::uint64_t id,
             const std::function<void(std::uint64_t)>& is_code) const;

 private:
  bool has(std::uint64_t field) const { return (fields_ & field) != 0; }
  std::size_t bytes_of_fixed_parts(std::size_t raw_bytes) const;
  std::size_t write_callchain(ByteWriter& out, const session::Sample& sample, std::size_t room,
                              const std::function<void(std::uint64_t)>& is_code) const;
  std::size_t write_branches(ByteWriter& out, const session::Sample& sample, std::size_t room,
                             const std::function<void(std::uint64_t)>& is_code) const;
  void write_user_stack(ByteWriter& out, const session::Sample& sample, std::size_t room) const;

  RecordingDescription description_;
  std::uint64_t fields_;  // perf::sample_field
};

}  // namespace zs::profile
