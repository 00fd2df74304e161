#include "engine/kernel/calls/hidden_memory.h"

#include <limits.h>
#include <sys/syscall.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <span>

#include "engine/kernel/calls/call_commands.h"

namespace zs::engine {
namespace {

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace

std::unique_ptr<ReplacedCall> HiddenMemory::replaced(const CallArguments& made) const {
  const Call& call = call_of(made.number);
  Replacement into;
  const std::uint32_t numbers = command_of(made).no_pointer / kPointer1;
  for (std::uint32_t left = pointers_of(call) & ~numbers; left != 0; left &= left - 1) {
    const int argument = std::countr_zero(left);
    if (!is_hidden(made.u(argument))) continue;
    ReplacedCall::of(made, into).arguments[argument] = static_cast<long>(nowhere_like(made.u(argument)));
  }
  if (into != nullptr) return into;
  for (const WrittenMemory& written : call.written) replace_in_memory(into, made, written);
  replace_in_memory(into, made, call.read);
  return into;
}

void HiddenMemory::replace_in_memory(Replacement& into, const CallArguments& made, const WrittenMemory& where) const {
  using Form = WrittenMemory::Form;
  const std::uint64_t at = made.u(where.argument);
  switch (where.form) {
    case Form::Vectors: return replace_in_vectors(into, made, where);
    case Form::Message: {
      const auto header = memory_.value_at<msghdr>(at);
      if (header && leads_there(*header)) ReplacedCall::of(made, into).known = -EFAULT;
      return;
    }
    case Form::Messages:  // as far as the first that leads there
      for (std::uint64_t i = 0; i < std::min<std::uint64_t>(made.u(where.count), IOV_MAX); ++i) {
        const auto header = memory_.value_at<msghdr>(at + i * sizeof(mmsghdr));
        if (!header) return;
        if (!leads_there(*header)) continue;
        if (i == 0) ReplacedCall::of(made, into).known = -EFAULT;
        ReplacedCall::of(made, into).arguments[where.count] = static_cast<long>(i);
        return;
      }
      return;
    default: return;
  }
}

// What lies in another process is that one's own.
void HiddenMemory::replace_in_vectors(Replacement& into, const CallArguments& made, const WrittenMemory& where) const {
  constexpr int kRemote = 3;
  if (where.argument == kRemote && made.a[0] != threads_.thread->process->pid) return;
  std::vector<iovec> pieces = vectors_at(made.u(where.argument), made.u(where.count));
  bool any = false;
  for (iovec& piece : pieces) {
    if (!is_hidden(address_of(piece.iov_base))) continue;
    piece.iov_base = reinterpret_cast<void*>(nowhere_like(address_of(piece.iov_base)));
    any = true;
  }
  if (!any) return;
  const auto bytes = std::as_bytes(std::span(pieces));
  ReplacedCall::of(made, into).point_at(where.argument, {bytes.begin(), bytes.end()});
}

bool HiddenMemory::leads_there(const msghdr& header) const {
  if (is_hidden(address_of(header.msg_name)) || is_hidden(address_of(header.msg_control)) ||
      is_hidden(address_of(header.msg_iov)))
    return true;
  return std::ranges::any_of(vectors_at(address_of(header.msg_iov), header.msg_iovlen),
                             [this](const iovec& piece) { return is_hidden(address_of(piece.iov_base)); });
}

// More than the kernel takes, or what it cannot read, it refuses itself.
std::vector<iovec> HiddenMemory::vectors_at(std::uint64_t address, std::uint64_t count) const {
  if (address == 0 || count > IOV_MAX) return {};
  std::vector<iovec> pieces(count);
  if (memory_.read(address, pieces.data(), count * sizeof(iovec)) != count * sizeof(iovec)) return {};
  return pieces;
}

}  // namespace zs::engine
