// What the model of coherence saw of the lines that a process's threads fought over (uarch/coherence/line_log.h), with
// what only the recorder knows: which threads they were, and which blocks of the heap lay in those lines. It travels
// and is kept as bytes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "session/memory/heap_blocks.h"
#include "session/sample.h"
#include "session/wire/wire.h"
#include "uarch/coherence/sharing_log.h"

namespace zs::session {

struct ProcessSharing {
  std::vector<std::int32_t> threads;  // by LineUse::thread
  std::vector<HeapBlock> blocks;      // some bytes of which lay in one of `lines` when it was fought over; ascending
  std::vector<uarch::LineLog> lines;  // those with the most hand-overs first
  std::uint64_t hand_overs_left_out = 0;
};

std::vector<std::byte> encode(const ProcessSharing& sharing);
/// name  of what the bytes are in, for messages
Result<ProcessSharing> decode_sharing(Bytes bytes, const std::string& name);

/// Collects it while the program runs.
class SharingRecorder {
 public:
  explicit SharingRecorder(uarch::SharingLog& log) : log_(log) {}

  /// A thread of that number came to the machine.
  void attached(std::int32_t tid) { threads_.push_back(tid); }
  /// Looks up the blocks in lines that are new. To be called before the heap changes, and now and then.
  void find_blocks(HeapBlocks& heap);
  /// Says all of it, as of `origin`.
  void write(MessageWriter& out, const Origin& origin);
  /// This process is a copy of the one that ran so far.
  void forget();

 private:
  uarch::SharingLog& log_;
  std::vector<std::int32_t> threads_;
  std::map<std::uint64_t, HeapBlock> blocks_;  // by number
};

}  // namespace zs::session
