#include "engine/memory/guest_access.h"

#include <errno.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "engine/memory/guest_map.h"
#include "engine/memory/layout.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// MAX_ARG_STRLEN: the kernel's limit for one argument or environment string, with its NUL.
constexpr std::size_t kArgumentStringLimit = 32 * kPageSize;

enum class Direction : std::uint8_t { Read, Write };

const GuestMap* programs = nullptr;
AddressRange lent;

/// Some containers forbid process_vm_readv. A file takes its place: the kernel copies to or from it with the same
/// checks.
std::size_t transfer_through_file(Direction direction, std::uint64_t address, void* local, std::size_t length) {
  const long fd = raw_syscall(SYS_memfd_create, "", 1u /* MFD_CLOEXEC */);
  if (is_error(fd)) return 0;
  void* const guest = reinterpret_cast<void*>(address);
  void* const source = direction == Direction::Read ? guest : local;
  void* const target = direction == Direction::Read ? local : guest;
  long copied = raw_syscall(SYS_pwrite64, fd, source, length, 0L);
  if (copied > 0) copied = raw_syscall(SYS_pread64, fd, target, copied, 0L);
  raw_syscall(SYS_close, fd);
  return copied > 0 ? static_cast<std::size_t>(copied) : 0;
}

std::size_t transfer(Direction direction, std::uint64_t address, void* local, std::size_t length) {
  constexpr std::size_t kPieces = 16;  // one page of the guest each: transfers stop between pieces, not within
  const long number = direction == Direction::Read ? SYS_process_vm_readv : SYS_process_vm_writev;
  std::size_t done = 0;
  while (done < length) {
    iovec pieces[kPieces];
    std::size_t count = 0, wanted = 0;
    for (; count < kPieces && done + wanted < length; ++count) {
      const std::uint64_t at = address + done + wanted;
      if (at >= kTaskSize || is_out_of_reach(at)) break;
      const std::size_t piece = std::min(length - done - wanted, kPageSize - (at & (kPageSize - 1)));
      pieces[count] = {reinterpret_cast<void*>(at), piece};
      wanted += piece;
    }
    if (count == 0) break;
    char* const here = static_cast<char*>(local) + done;
    iovec whole{here, wanted};
    const long copied = raw_syscall(number, raw_syscall(SYS_getpid), &whole, 1L, pieces, count, 0L);
    if (copied == -EPERM || copied == -ENOSYS) {
      return done + transfer_through_file(direction, address + done, here, length - done);
    }
    if (copied > 0) done += static_cast<std::size_t>(copied);
    if (copied != static_cast<long>(wanted)) break;
  }
  return done;
}

/// Reads here and there in a few pages: of each as much at once as there is.
class PageReader {
 public:
  /// The bytes from `address` to the end of its page; none, if they cannot be read.
  std::string_view from(std::uint64_t address) {
    if (address - start_ >= bytes_) {
      const std::uint64_t page = page_down(address);
      start_ = is_out_of_reach(page) ? address : page;
      bytes_ = read_guest(start_, piece_, page + kPageSize - start_);
    }
    return std::string_view(piece_, bytes_).substr(std::min(address - start_, bytes_));
  }
  std::optional<std::uint64_t> pointer(std::uint64_t address) {
    std::uint64_t value;
    const std::string_view bytes = from(address);
    if (bytes.size() < sizeof value) return read_guest_value<std::uint64_t>(address);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  /// As read_guest_string().
  long string(std::uint64_t address, std::size_t limit, std::string& out) {
    out.clear();
    while (out.size() < limit) {
      const std::string_view bytes = from(address + out.size()).substr(0, limit - out.size());
      if (bytes.empty()) return -EFAULT;
      const std::size_t nul = bytes.find('\0');
      out.append(bytes.substr(0, nul));
      if (nul != bytes.npos) return 0;
    }
    return -ENAMETOOLONG;
  }

 private:
  char piece_[kPageSize];
  std::uint64_t start_ = 0, bytes_ = 0;
};

}  // namespace

void keep_guest_access_from_tool(const GuestMap& map) { programs = &map; }

void lend_to_call(AddressRange range) { lent = range; }

bool is_out_of_reach(std::uint64_t address) {
  return programs != nullptr && programs->is_tools(address) && !lent.contains(address);
}

std::size_t read_guest(std::uint64_t address, void* out, std::size_t length) {
  return transfer(Direction::Read, address, out, length);
}

std::size_t write_guest(std::uint64_t address, const void* in, std::size_t length) {
  return transfer(Direction::Write, address, const_cast<void*>(in), length);
}

long read_guest_string(std::uint64_t address, std::size_t limit, std::string& out) {
  return PageReader().string(address, limit, out);
}

long read_guest_strings(std::uint64_t address, std::size_t limit, std::vector<std::string>& out) {
  out.clear();
  if (address == 0) return 0;
  PageReader pointers, strings;
  std::size_t used = 0;
  for (;; address += sizeof(std::uint64_t)) {
    const auto pointer = pointers.pointer(address);
    if (!pointer) return -EFAULT;
    if (*pointer == 0) return 0;
    std::string text;
    const long result = strings.string(*pointer, kArgumentStringLimit, text);
    if (result == -ENAMETOOLONG) return -E2BIG;
    if (result < 0) return result;
    used += text.size() + 1 + sizeof(std::uint64_t);
    if (used > limit) return -E2BIG;
    out.push_back(std::move(text));
  }
}

}  // namespace zs::engine
