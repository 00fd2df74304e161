// Writes a recording as a perf.data file that stock perf 6.1 reads.
//
// The file is readable at every moment. Its header is complete before the first record; records are appended in whole
// pieces, and only then does the header's data size grow over them. So `kill -9` of the writer, a full disk or a lost
// power line cost what was not flushed, the features (host, build-ids of the BUILD_ID table, times) and the summary
// notes, and nothing else: event names and notes of the beginning, and build-ids of mappings, are among the records.
//
// Records may come in any order of time: readers sort. A record that is needed to understand a sample (COMM, MMAP2,
// FORK) must have a time not later than the sample's; of records of the same time, the one written first comes first.
// round() tells readers how far they can sort without reading on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "profile/perf_data/address_space.h"
#include "profile/perf_data/recording.h"
#include "profile/perf_data/records.h"

namespace zs::profile {

class PerfDataWriter {
 public:
  /// Creates `path`; a regular, non-empty file of this name is renamed to `path`.old first. Writes the header.
  /// Something that is not a regular file (/dev/null) is written to as it is.
  /// CHECKs that there is an event and that group members exist.
  static Result<PerfDataWriter> create(std::string path, RecordingDescription description);

  PerfDataWriter(PerfDataWriter&&) noexcept;
  PerfDataWriter& operator=(PerfDataWriter&&) noexcept;
  /// Flushes, but writes no features and no summary: that is close().
  ~PerfDataWriter();

  /// Each appends one record to the buffer, which is written out when it is full. Errors are those of flush().
  Result<void> comm(const Comm& comm);
  /// A file mapping that nobody has identified is given the build-id of the file at its path, if that has one.
  Result<void> mmap(Mmap mmap);
  Result<void> fork(const Fork& fork);
  Result<void> exit(const Exit& exit);
  Result<void> lost(const Lost& lost);
  /// CHECKs that sample.event is one of the description's. A call chain or stack that would make the record longer
  /// than 65528 bytes is cut at its outer end.
  Result<void> sample(const session::Sample& sample);

  /// Appends a record as the kernel wrote it, of an event that was opened with attr_of() (event_attr.h).
  /// CHECKs that it is one whole record.
  Result<void> kernel_record(Bytes record);
  /// The latest time of a record so far.
  std::uint64_t latest_ns() const;
  /// Branches of one thread, the next ones: BTS records of 24 bytes, as perf finds them in the AUX area of intel_bts.
  /// CHECKs that the description has an event of that PMU.
  Result<void> branches(const TracePiece& piece, Bytes records);
  /// That each call of branches() adds to the file besides the records; that exit() adds.
  static constexpr std::uint64_t kBytesBesidesBranches = 152, kBytesOfExit = 64;
  /// How large the file would be, closed now; and no more with branches() of no records.
  std::uint64_t bytes_if_closed(const Summary& summary) const;
  /// At most 56 KiB of `bytes`.
  Result<void> sharing(const ProcessPart& part, Bytes bytes);
  /// The same of the text of a /tmp/perf-PID.map.
  Result<void> jit_map(const ProcessPart& part, Bytes bytes);
  /// Executable memory of all processes so far.
  const AddressSpaces& spaces() const;

  /// A promise that every record still to come has a time of at least `no_earlier_than_ns`.
  Result<void> round(std::uint64_t no_earlier_than_ns);

  /// Writes out what is buffered and makes it part of the file. After an error, which names the path, what is in the
  /// file and what is missing, the file stays readable, nothing more is written, and every call returns that error.
  Result<void> flush();

  /// Writes the summary, then the features, and ends the file. Even after a failed flush() the features are tried.
  /// An Error also if the file can no longer be reached under its name.
  Result<void> close(const Summary& summary);

  std::uint64_t samples_written() const;   // part of the file now
  std::uint64_t bytes_written() const;     // size of the file, without features
  std::uint64_t branches_written() const;  // likewise, of traces
  std::uint64_t branches_seen() const;     // by branches()
  const std::string& path() const;

 private:
  class Impl;
  explicit PerfDataWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace zs::profile
