// The memory in which the kernel hands records over: a page of bookkeeping, then a power of two of bytes that it writes
// round and round. The kernel moves data_head, the reader data_tail; what lies between is ours to read.
// source: Linux, uapi perf_event.h, struct perf_event_mmap_page; perf_event_open(2), "MMAP layout".
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

struct perf_event_mmap_page;

namespace zs::host {

class RingBuffer {
 public:
  /// Maps the ring of an open event. Unmaps it when it ends.
  /// data_bytes  a power of two of pages
  /// An Error has errno's name in it; EPERM means that the memory that a user may lock is used up.
  static Result<RingBuffer> map(int event, std::size_t data_bytes);
  /// Reads a ring that lies in memory of the caller's, who keeps it.
  RingBuffer(perf_event_mmap_page& head, std::span<std::byte> data) : page_(&head), data_(data) {}

  RingBuffer(RingBuffer&& other) noexcept;
  RingBuffer& operator=(RingBuffer&&) = delete;
  ~RingBuffer();

  /// Calls `take` for each whole record that is there now, in the order in which the kernel wrote them, and then gives
  /// their place back. A record is valid during its call.
  /// An Error: the ring holds what no kernel writes; nothing more can be read from it.
  Result<void> drain(const std::function<void(Bytes)>& take);

 private:
  Bytes at(std::uint64_t position, std::size_t size);

  perf_event_mmap_page* page_;
  std::span<std::byte> data_;
  std::size_t mapped_bytes_ = 0;     // 0: the caller's memory
  std::vector<std::byte> straight_;  // a record that lay across the end
};

}  // namespace zs::host
