#include "engine/kernel/calls/hidden_descriptors.h"

#include <limits.h>
#include <linux/aio_abi.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "engine/kernel/calls/call_commands.h"
#include "engine/raw_syscall.h"

namespace zs::engine {
namespace {

/// Larger than the kernel's tables can be.
constexpr int kNeverOpen = INT_MAX;
/// Elements that are looked at; more the kernel refuses, or does not get from a program that is in its senses.
constexpr std::uint64_t kMost = 65'536;

template <typename T>
T value_in(const std::vector<std::byte>& bytes, std::size_t at) {
  T value;
  std::memcpy(&value, &bytes[at], sizeof value);
  return value;
}

template <typename T>
void set_in(std::vector<std::byte>& bytes, std::size_t at, T value) {
  std::memcpy(&bytes[at], &value, sizeof value);
}

}  // namespace

std::unique_ptr<ReplacedCall> HiddenDescriptors::replaced(const CallArguments& made) const {
  constexpr std::uint32_t kAny = kDescriptor1 | kDescriptor2 | kDescriptor3 | kDescriptor4 | kDescriptor5;
  const Call& call = call_of(made.number);
  const CallCommand command = command_of(made);
  const std::uint32_t traits = call.traits | command.traits;
  using Form = DescriptorsInMemory::Form;
  const DescriptorsInMemory& in_memory =
      command.descriptors.form != Form::None ? command.descriptors : call.descriptors;
  Replacement into;
  for (int i = 0; (traits & kAny) != 0 && i < 5; ++i) {
    if ((traits & kDescriptor1 << i) != 0) replace_argument(into, made, i);
  }
  if (in_memory.form != Form::None) replace_in_memory(into, made, in_memory);
  return into;
}

void HiddenDescriptors::replace_argument(Replacement& into, const CallArguments& made, int argument) const {
  if (!is_hidden(made.a[argument])) return;
  ReplacedCall::of(made, into).arguments[argument] = kNeverOpen;
  if ((made.number == SYS_dup2 || made.number == SYS_dup3) && argument == 1) {
    threads_.observer().notice("descriptor " + std::to_string(made.i32(argument)) + " is zeroskid's: the program's " +
                               std::string(call_of(made.number).name) + " was answered EBADF");
  }
}

void HiddenDescriptors::replace_in_memory(Replacement& into, const CallArguments& made,
                                          const DescriptorsInMemory& where) const {
  using Form = DescriptorsInMemory::Form;
  switch (where.form) {
    case Form::None: break;
    case Form::Array: replace_elements(into, made, where); break;
    case Form::Sets:
      if (are_in_sets(made, where.argument)) ReplacedCall::of(made, into).known = -EBADF;
      break;
    case Form::Message:
    case Form::Messages: replace_messages(into, made, where); break;
    case Form::ControlBlocks: replace_control_blocks(into, made, where); break;
  }
}

/// Empty where they cannot be read.
ReplacedCall::Bytes HiddenDescriptors::bytes_at(std::uint64_t address, std::size_t size) const {
  ReplacedCall::Bytes bytes(size);
  return address != 0 && memory_.read(address, bytes.data(), size) == size ? bytes : ReplacedCall::Bytes{};
}

void HiddenDescriptors::replace_elements(Replacement& into, const CallArguments& made,
                                         const DescriptorsInMemory& where) const {
  const std::uint64_t count = where.count < 0 ? 1 : static_cast<std::uint32_t>(made.a[where.count]);
  if (count > kMost) return;
  ReplacedCall::Bytes bytes = bytes_at(made.u(where.argument), count * where.size);
  bool any = false;
  for (std::size_t at = where.offset; at < bytes.size(); at += where.size) {
    if (!is_hidden(value_in<int>(bytes, at))) continue;
    set_in(bytes, at, kNeverOpen);
    any = true;
  }
  if (!any) return;
  ReplacedCall& call = ReplacedCall::of(made, into);
  if (where.answer_size != 0) call.expect_answers(bytes, made.u(where.argument), where);
  call.point_at(where.argument, std::move(bytes));
}

// The control message of `header`, changed; empty: it passes on none of them.
ReplacedCall::Bytes HiddenDescriptors::without_hidden(const msghdr& header) const {
  constexpr std::size_t kMostBytes = 65'536;
  if (header.msg_controllen < sizeof(cmsghdr) || header.msg_controllen > kMostBytes) return {};
  ReplacedCall::Bytes bytes = bytes_at(reinterpret_cast<std::uint64_t>(header.msg_control), header.msg_controllen);
  bool any = false;
  for (std::size_t at = 0; at + sizeof(cmsghdr) <= bytes.size();) {
    const auto one = value_in<cmsghdr>(bytes, at);
    if (one.cmsg_len < sizeof(cmsghdr) || one.cmsg_len > bytes.size() - at) break;
    if (one.cmsg_level == SOL_SOCKET && one.cmsg_type == SCM_RIGHTS) {
      for (std::size_t i = at + sizeof(cmsghdr); i + sizeof(int) <= at + one.cmsg_len; i += sizeof(int)) {
        if (!is_hidden(value_in<int>(bytes, i))) continue;
        set_in(bytes, i, kNeverOpen);
        any = true;
      }
    }
    at += CMSG_ALIGN(one.cmsg_len);
  }
  return any ? bytes : ReplacedCall::Bytes{};
}

void HiddenDescriptors::replace_messages(Replacement& into, const CallArguments& made,
                                         const DescriptorsInMemory& where) const {
  const bool many = where.form == DescriptorsInMemory::Form::Messages;
  const std::size_t size = many ? sizeof(mmsghdr) : sizeof(msghdr);
  const std::uint64_t count = many ? std::min<std::uint64_t>(made.u(where.count), 1024) : 1;  // UIO_MAXIOV
  const std::uint64_t from = made.u(where.argument);
  ReplacedCall::Bytes headers(count * size);
  headers.resize(from == 0 ? 0 : memory_.read(from, headers.data(), headers.size()) / size * size);
  bool any = false;
  for (std::size_t at = 0; at < headers.size(); at += size) {
    auto header = value_in<msghdr>(headers, at);
    ReplacedCall::Bytes control = without_hidden(header);
    if (control.empty()) continue;
    header.msg_control = ReplacedCall::of(made, into).keep(std::move(control));
    set_in(headers, at, header);
    any = true;
  }
  if (!any) return;
  ReplacedCall& call = ReplacedCall::of(made, into);
  if (many) {
    call.arguments[where.count] = static_cast<long>(headers.size() / size);  // the kernel does not come to the others
    call.expect_answers(
        headers, from,
        {.size = sizeof(mmsghdr), .answer_offset = offsetof(mmsghdr, msg_len), .answer_size = sizeof(int)});
  }
  call.point_at(where.argument, std::move(headers));
}

// A block that is replaced is refused, so the kernel keeps no pointer to the one in its place.
void HiddenDescriptors::replace_control_blocks(Replacement& into, const CallArguments& made,
                                               const DescriptorsInMemory& where) const {
  const std::uint64_t count = made.u(where.count);
  if (count > kMost) return;
  ReplacedCall::Bytes pointers = bytes_at(made.u(where.argument), count * sizeof(std::uint64_t));
  bool any = false;
  for (std::size_t at = 0; at < pointers.size(); at += sizeof(std::uint64_t)) {
    auto block = memory_.value_at<iocb>(value_in<std::uint64_t>(pointers, at));
    if (!block || !is_hidden(static_cast<int>(block->aio_fildes))) continue;
    block->aio_fildes = kNeverOpen;
    ReplacedCall::Bytes bytes(sizeof(iocb));
    set_in(bytes, 0, *block);
    set_in(pointers, at, ReplacedCall::of(made, into).keep(std::move(bytes)));
    any = true;
  }
  if (any) ReplacedCall::of(made, into).point_at(where.argument, std::move(pointers));
}

// EBADF is what the kernel says of a member that is not open, as far as its own table goes.
bool HiddenDescriptors::are_in_sets(const CallArguments& made, int first) const {
  const int begin = settings_.first_private_fd;
  const int end = std::min(made.i32(0), begin + kPrivateDescriptors);
  for (int i = first; i < first + 3 && begin < end; ++i) {
    for (int fd = begin; fd < end && made.a[i] != 0; ++fd) {
      const auto byte = memory_.value_at<std::uint8_t>(made.u(i) + static_cast<std::uint64_t>(fd) / 8);
      if (byte && (*byte >> fd % 8 & 1) != 0) return true;
    }
  }
  return false;
}

}  // namespace zs::engine
