// Reads perf.data files: ours, and those that perf itself wrote with the same kinds of record.
//
// Nothing in a file is trusted: open() walks all of it once and checks every length, count, offset and id, so what
// comes later cannot fail. A file that is cut or damaged is an Error that names the place; with
// PerfDataOptions::truncated everything before that place is read. Where bytes had to be unpacked, places are those in
// the unpacked bytes.
// Read too: the pipe format (`perf record -o -`), compressed records (`perf record -z`), files packed by gzip, xz or
// zstd.
// Read if they are wanted: branch traces (intel_bts), piece by piece or as samples.
// Not read: files of big-endian machines and of perf's first format. Other traces and records of unknown types are
// passed over, and remarks() says so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "profile/perf_data/address_space.h"
#include "profile/perf_data/file_events.h"
#include "profile/perf_data/file_notes.h"
#include "profile/perf_data/file_traces.h"
#include "profile/perf_data/perf_data.h"
#include "profile/perf_data/recording.h"
#include "profile/perf_data/records.h"
#include "profile/perf_data/sample_choice.h"

namespace zs::profile {

struct PerfDataOptions {
  bool truncated = false;  // read up to the first damage instead of refusing
  Traces traces = Traces::PassedOver;
  std::string times;      // of which samples are read, as parse_times() takes them; "": all
  std::vector<int> cpus;  // likewise; none: all
};

class PerfDataReader {
 public:
  using Event = FileEvent;

  /// A row of the BUILD_ID feature.
  struct KnownBuildId {
    std::string path;
    BuildId id;
  };

  enum class Order { File, Time };

  /// `path` "-" is standard input.
  static Result<PerfDataReader> open(const std::string& path, PerfDataOptions options = {});
  /// `bytes` must outlive the reader; `name` is what messages call them.
  static Result<PerfDataReader> from_bytes(std::string name, Bytes bytes, PerfDataOptions options = {});

  const std::string& name() const { return name_; }
  const std::vector<Event>& events() const { return events_.all(); }
  /// What the file says of itself: written by us, all that the writer was given.
  const RecordingDescription& description() const { return description_; }
  const Summary& summary() const { return summary_; }
  const std::vector<KnownBuildId>& build_ids() const { return build_ids_; }

  /// False if the writer never came to its end, and so left out features and summary.
  bool finished() const;
  /// Damage that PerfDataOptions::truncated made us stop at.
  const std::optional<Error>& damage() const { return damage_; }
  /// What was passed over, one line each: a feature that does not parse, an auxiliary trace.
  const std::vector<std::string>& remarks() const { return remarks_; }

  /// What only recordings of ours have.
  const FileNotes& notes() const { return notes_; }

  std::uint64_t sample_count() const { return found_.samples; }
  std::uint64_t lost_count() const;
  std::uint64_t first_sample_ns() const { return found_.first_sample_ns; }
  std::uint64_t last_sample_ns() const { return found_.last_sample_ns; }

  const perf::FileHeader& header() const { return header_; }
  bool has(perf::Feature feature) const;
  std::int64_t captured_at() const { return captured_at_; }  // seconds since 1970; 0 if unknown
  bool is_pipe_format() const { return header_.header_bytes == perf::kPipeHeaderBytes; }
  /// Bytes of auxiliary traces, read or not, and whose they are ("Intel PT"; "" if there are none).
  std::uint64_t trace_bytes() const { return traces_.bytes(); }
  std::string_view trace_kind() const { return traces_.kind(); }
  bool has_branch_trace() const { return traces_.has_branches(); }

  /// Calls `take` for every COMM, mapping, FORK, EXIT, LOST and SAMPLE, in the file's order or in that of time (equal
  /// times: the file's), and for each piece of a branch trace, or each of its branches. A record is valid during its
  /// call only.
  void for_each(Order order, const std::function<void(const Record&)>& take) const;

 private:
  struct Place {
    std::uint64_t time_ns;
    std::uint64_t offset;
  };

  /// Of records, in the file.
  struct Extent {
    std::uint64_t first = 0, end = 0;
  };

  /// Counted as records are read.
  struct Found {
    std::uint64_t samples = 0, lost = 0, first_sample_ns = 0, last_sample_ns = 0;
  };

  PerfDataReader() = default;
  static Result<PerfDataReader> read(PerfDataReader reader, PerfDataOptions options,
                                     std::optional<Error> packed_damage);
  Result<void> check_kind() const;
  Result<void> read_events();
  std::optional<Error> unpack();
  std::optional<Error> walk();
  std::optional<Error> take_record(std::uint64_t offset, const perf::RecordHeader& head);
  Error cut_record(std::uint64_t offset, const perf::RecordHeader& head, std::uint64_t remain) const;
  std::optional<Error> read_attr(ByteReader& body);
  std::optional<Error> read_trace(std::uint64_t offset, ByteReader& body);
  TracedBranches piece_at(std::uint64_t offset) const;
  void make_samples_of_traces();
  void index(const Record& record, std::uint64_t offset);
  void remark_on_unread();

  // perf_data_features.cc
  void read_features();
  void read_feature(perf::Feature feature, ByteReader& in);
  void read_build_id(const perf::RecordHeader& head, ByteReader& row);
  void describe();

  std::string name_;
  std::string records_name_;  // what messages call the place of a record
  std::shared_ptr<const void> storage_, records_storage_;
  Bytes bytes_;    // of the file
  Bytes records_;  // where records are: in bytes_, or unpacked from there
  Extent extent_;
  perf::FileHeader header_;
  std::int64_t captured_at_ = 0;
  FileEvents events_;
  FileNotes notes_;
  RecordingDescription description_;
  Summary summary_;
  std::vector<KnownBuildId> build_ids_;
  std::optional<Error> damage_;
  std::vector<std::string> remarks_;
  std::vector<Place> places_;  // of every record that for_each gives, in the file's order
  bool in_time_order_ = true;
  std::vector<std::uint64_t> sample_offsets_;  // ascending
  CounterReadings readings_;
  Record scratch_;
  Found found_;
  FileTraces traces_;
  SampleChoice choice_;
  std::map<std::uint32_t, std::uint64_t> unknown_types_;  // type of record -> how many
};

/// Each sample in the order of time; `spaces` has what was mapped by then.
template <typename Take>
void for_each_sample(const PerfDataReader& reader, AddressSpaces& spaces, const Take& take) {
  reader.for_each(PerfDataReader::Order::Time, [&](const Record& record) {
    spaces.apply(record);
    if (const auto* const sample = std::get_if<SampleRecord>(&record)) take(*sample);
  });
}

}  // namespace zs::profile
