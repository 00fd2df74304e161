#include "host/ring_buffer.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "host/perf_errors.h"

namespace zs::host {

Result<RingBuffer> RingBuffer::map(int event, std::size_t data_bytes) {
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = page_bytes + data_bytes;
  void* const place = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
  if (place == MAP_FAILED) return why_no_ring(errno, data_bytes);
  RingBuffer ring(*static_cast<perf_event_mmap_page*>(place),
                  std::span(static_cast<std::byte*>(place) + page_bytes, data_bytes));
  ring.mapped_bytes_ = bytes;
  return ring;
}

RingBuffer::RingBuffer(RingBuffer&& other) noexcept
    : page_(other.page_), data_(other.data_), mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

RingBuffer::~RingBuffer() {
  if (mapped_bytes_ != 0) munmap(page_, mapped_bytes_);
}

/// `size` bytes from `position` on, in one piece.
Bytes RingBuffer::at(std::uint64_t position, std::size_t size) {
  const auto start = static_cast<std::size_t>(position % data_.size());
  if (start + size <= data_.size()) return data_.subspan(start, size);
  straight_.resize(size);
  const std::size_t first = data_.size() - start;
  std::memcpy(straight_.data(), data_.data() + start, first);
  std::memcpy(straight_.data() + first, data_.data(), size - first);
  return straight_;
}

Result<void> RingBuffer::drain(const std::function<void(Bytes)>& take) {
  // What the kernel wrote before it moved the head is visible once the head is.
  const std::uint64_t head = std::atomic_ref(page_->data_head).load(std::memory_order_acquire);
  std::uint64_t tail = page_->data_tail;
  if (head - tail > data_.size())
    return Error{fmt::format("a ring of {} bytes says that {} wait to be read", data_.size(), head - tail), ""};
  while (tail != head) {
    perf_event_header header;
    const std::uint64_t waiting = head - tail;
    if (waiting >= sizeof header) std::memcpy(&header, at(tail, sizeof header).data(), sizeof header);
    if (waiting < sizeof header || header.size < sizeof header || header.size > waiting) {
      return Error{fmt::format("a record of {} bytes in a ring with {} to be read", header.size, waiting), ""};
    }
    take(at(tail, header.size));
    tail += header.size;
  }
  // The kernel may write there only after everything was read.
  std::atomic_ref(page_->data_tail).store(tail, std::memory_order_release);
  return {};
}

}  // namespace zs::host
