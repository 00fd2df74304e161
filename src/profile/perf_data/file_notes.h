// What a recording of ours has between perf's records: notes, blocks of the heap that samples lie in, and logs of
// shared lines, names of code that just-in-time compilers made. They are records of a type that perf passes over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "profile/perf_data/recording.h"
#include "profile/perf_data/records.h"
#include "session/sample.h"

namespace zs::profile {

class FileNotes {
 public:
  /// body     of a record of type EventType
  /// samples  that came before it in the file
  std::optional<Error> read(ByteReader& body, std::uint64_t samples);

  const std::vector<Note>& of_beginning() const { return of_beginning_; }
  const std::vector<Note>& of_end() const { return of_end_; }
  /// Of each process that shared lines, in the order in which they ended.
  const std::vector<ProcessBytes>& sharing() const { return sharing_; }
  /// The text of each /tmp/perf-PID.map that the recording has.
  const std::vector<ProcessBytes>& jit_maps() const { return jit_maps_; }
  bool has_heap_blocks() const { return !blocks_of_samples_.empty(); }
  /// That sample number `index` of the file lies in, from 0; null: in none.
  std::shared_ptr<const session::HeapBlock> heap_block_of(std::size_t index) const;

 private:
  std::optional<Error> read_heap_block(ByteReader& body);
  std::optional<Error> read_blocks_of_samples(ByteReader& body, std::uint64_t samples);
  static std::optional<Error> read_part(ByteReader& body, const char* what, std::vector<ProcessBytes>& into);

  std::vector<Note> of_beginning_, of_end_;
  std::vector<std::shared_ptr<const session::HeapBlock>> heap_blocks_;  // number n is at n - 1
  std::vector<std::uint32_t> blocks_of_samples_;  // in the file's order; shorter if the rest has none
  std::vector<ProcessBytes> sharing_, jit_maps_;
};

}  // namespace zs::profile
