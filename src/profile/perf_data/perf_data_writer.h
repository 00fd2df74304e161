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

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "profile/perf_data/address_space.h"
#include "profile/perf_data/event_attr.h"
#include "profile/perf_data/perf_feature_table.h"
#include "profile/perf_data/perf_sample_body.h"
#include "profile/perf_data/record_packer.h"
#include "profile/perf_data/recording.h"
#include "profile/perf_data/recording_file.h"
#include "profile/perf_data/records.h"

namespace zs::profile {

class PerfDataWriter {
 public:
  /// Creates `path`; a regular, non-empty file of this name is renamed to `path`.old first. Writes the header.
  /// Something that is not a regular file (/dev/null) is written to as it is.
  /// CHECKs that there is an event and that group members exist.
  static Result<PerfDataWriter> create(std::string path, RecordingDescription description);

  PerfDataWriter(PerfDataWriter&&) = default;
  PerfDataWriter& operator=(PerfDataWriter&&) = delete;
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
  std::uint64_t latest_ns() const { return latest_ns_; }
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
  const AddressSpaces& spaces() const { return spaces_; }

  /// A promise that every record still to come has a time of at least `no_earlier_than_ns`.
  Result<void> round(std::uint64_t no_earlier_than_ns);

  /// Writes out what is buffered and makes it part of the file. After an error, which names the path, what is in the
  /// file and what is missing, the file stays readable, nothing more is written, and every call returns that error.
  Result<void> flush();

  /// Writes the summary, then the features, and ends the file. Even after a failed flush() the features are tried.
  /// An Error also if the file can no longer be reached under its name.
  Result<void> close(const Summary& summary);

  std::uint64_t samples_written() const { return samples_written_; }    // part of the file now
  std::uint64_t bytes_written() const { return header_.data.end(); }    // size of the file, without features
  std::uint64_t branches_written() const { return branches_written_; }  // likewise, of traces
  std::uint64_t branches_seen() const { return branches_seen_; }        // by branches()
  const std::string& path() const { return file_.path(); }

 private:
  /// What a recording is counted in: its samples, or the branches of a trace.
  struct CountedAs {
    std::string_view one, many;
    std::string count(std::uint64_t number) const;
  };
  /// Of a thread: perf decodes each queue by itself.
  struct TraceQueue {
    std::uint32_t number = 0;
    std::uint64_t bytes = 0;  // so far
  };

  PerfDataWriter(std::string path, RecordingDescription description)
      : file_(std::move(path)), description_(std::move(description)) {}
  Result<void> begin_file();
  void append_description();
  /// Of an event's records; asked for each.
  std::uint64_t id_of(std::uint32_t event) const { return record_id_of(description_, event); }

  // Each record: begin(), body, end().
  std::size_t begin(perf::RecordType type, std::uint16_t misc);
  void complete(std::size_t at);
  Result<void> end(std::size_t at);
  void trailer(std::int32_t pid, std::int32_t tid, std::uint64_t time_ns, std::uint32_t event = 0);

  Result<void> task(perf::RecordType type, const Fork& task);
  Result<void> part_of_process(std::uint32_t stage, const ProcessPart& part, Bytes bytes);
  Result<void> note(const Note& note, std::uint32_t stage);
  ByteWriter features(perf::FileHeader& header) const;
  void note_heap_block(const session::Sample& sample);
  void append_blocks_of_samples();
  void mark_used(std::int32_t pid, std::uint64_t address);
  bool is_trace() const { return std::ranges::any_of(description_.events, &EventDescription::is_branch_trace); }
  CountedAs unit() const { return is_trace() ? CountedAs{"branch", "branches"} : CountedAs{"sample", "samples"}; }
  /// In the file, of what unit() counts.
  std::uint64_t written() const { return is_trace() ? branches_written_ : samples_written_; }
  Error failure(std::string_view what, int error) const;

  RecordingFile file_;
  RecordingDescription description_;
  SampleBody sample_body_{description_};
  bool closed_ = false;
  perf::FileHeader header_;
  ByteWriter buffer_;  // whole records that are not in the file yet
  std::unique_ptr<RecordPacker> packer_;
  std::uint64_t samples_written_ = 0, samples_seen_ = 0;
  std::optional<std::uint64_t> first_sample_ns_;
  std::uint64_t last_sample_ns_ = 0;
  std::uint64_t latest_ns_ = 0;  // of any record
  std::uint64_t latest_at_last_round_ = 0;
  std::map<std::pair<std::int32_t, std::int32_t>, TraceQueue> trace_queues_;  // by pid and tid
  std::vector<AuxtracePlace> traces_;                                         // of the file, in their order
  std::uint64_t branches_written_ = 0, branches_seen_ = 0;
  std::optional<Error> error_;
  AddressSpaces spaces_;
  std::set<const Image*> used_;                                                  // images that a sample hit
  std::map<std::pair<std::int32_t, std::uint64_t>, std::uint32_t> heap_blocks_;  // by process and number there
  std::uint32_t last_heap_block_ = 0;
  std::uint64_t samples_appended_ = 0;
  std::vector<std::uint32_t> blocks_of_samples_;  // of the last samples appended, of which the file does not say it yet
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t, std::uint64_t>, std::optional<BuildId>> build_ids_;
};

}  // namespace zs::profile
