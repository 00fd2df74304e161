#include "session/memory/program_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/room_for_descriptors.h"

namespace zs::session {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPagesAtOnce = 16;

std::size_t up_to_page_end(std::uint64_t address, std::size_t length) {
  return std::min<std::size_t>(length, kPage - address % kPage);
}

}  // namespace

OwnProcessMemory::~OwnProcessMemory() {
  if (file_ >= 0) close(file_);
}

std::size_t OwnProcessMemory::read(std::uint64_t address, std::span<std::byte> into) {
  const std::size_t copied = copy_ ? copy_(address, into) : 0;
  return copied == into.size() ? copied : copied + read_by_kernel(address + copied, into.subspan(copied));
}

std::size_t OwnProcessMemory::read_by_kernel(std::uint64_t address, std::span<std::byte> into) {
  if (refused_) return read_by_file(address, into);
  std::size_t done = 0;
  while (done < into.size()) {
    // One element per page: a transfer stops between elements, so what is readable before a hole is read.
    std::array<iovec, kPagesAtOnce> remote;
    std::size_t count = 0, asked = 0;
    while (count < remote.size() && done + asked < into.size()) {
      const std::uint64_t at = address + done + asked;
      const std::size_t piece = up_to_page_end(at, into.size() - done - asked);
      remote[count++] = {reinterpret_cast<void*>(at), piece};
      asked += piece;
    }
    const iovec local{into.data() + done, asked};
    const ssize_t got = process_vm_readv(getpid(), &local, 1, remote.data(), count, 0);
    if (got < 0 && (errno == EPERM || errno == ENOSYS)) {
      refused_ = true;
      return done + read_by_file(address + done, into.subspan(done));
    }
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < asked) break;
  }
  return done;
}

// The kernel reads the source of a pwrite without faulting us: EFAULT says that it is not there.
std::size_t OwnProcessMemory::read_by_file(std::uint64_t address, std::span<std::byte> into) {
  if (file_ < 0) {
    const int low = memfd_create("zeroskid", MFD_CLOEXEC);
    if (low < 0) return 0;
    const RoomForDescriptors room;
    file_ = descriptor_ >= 0 ? dup3(low, descriptor_, O_CLOEXEC) : -1;
    if (file_ < 0) {
      file_ = low;
    } else {
      close(low);
    }
  }
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t piece = up_to_page_end(address + done, into.size() - done);
    const ssize_t copied = pwrite(file_, reinterpret_cast<const void*>(address + done), piece, 0);
    if (copied <= 0) break;
    if (pread(file_, into.data() + done, static_cast<std::size_t>(copied), 0) != copied) break;
    done += static_cast<std::size_t>(copied);
    if (static_cast<std::size_t>(copied) < piece) break;
  }
  return done;
}

}  // namespace zs::session
