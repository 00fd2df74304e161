// The tool's descriptors are not the program's: to each of its calls they are not open. A number of theirs that a call
// names, in an argument or in memory, is replaced by one that never is, and the kernel says what it says of such.
// Not seen: descriptors in the entries of an io_uring, which the kernel may read at any time, and those in structures
// that only root's calls have (bpf, fsconfig) or that point at others (FIDEDUPERANGE, IORING_REGISTER_FILES_UPDATE).
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/kernel/calls/replaced_call.h"

namespace zs::engine {

class HiddenDescriptors {
 public:
  HiddenDescriptors(GuestMemory& memory, const ThreadSet& threads, const RunSettings& settings)
      : memory_(memory), threads_(threads), settings_(settings) {}

  /// The call to be made instead; null: this names none of them.
  std::unique_ptr<ReplacedCall> replaced(const CallArguments& made) const;

 private:
  using Replacement = std::unique_ptr<ReplacedCall>;

  bool is_hidden(long fd) const { return settings_.hides_descriptor(fd); }
  void replace_argument(Replacement& into, const CallArguments& made, int argument) const;
  void replace_in_memory(Replacement& into, const CallArguments& made, const DescriptorsInMemory& where) const;
  void replace_elements(Replacement& into, const CallArguments& made, const DescriptorsInMemory& where) const;
  void replace_messages(Replacement& into, const CallArguments& made, const DescriptorsInMemory& where) const;
  void replace_control_blocks(Replacement& into, const CallArguments& made, const DescriptorsInMemory& where) const;
  bool are_in_sets(const CallArguments& made, int first) const;
  ReplacedCall::Bytes without_hidden(const msghdr& header) const;
  ReplacedCall::Bytes bytes_at(std::uint64_t address, std::size_t size) const;

  GuestMemory& memory_;
  const ThreadSet& threads_;
  const RunSettings& settings_;
};

}  // namespace zs::engine
