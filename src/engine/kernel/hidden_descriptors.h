// The tool's descriptors are not the program's: to each of its calls they are not open. A number of theirs that a call
// names, in an argument or in memory, is replaced by one that never is, and the kernel says what it says of such.
// Not seen: descriptors in the entries of an io_uring, which the kernel may read at any time, and those in structures
// that only root's calls have (bpf, fsconfig) or that point at others (FIDEDUPERANGE, IORING_REGISTER_FILES_UPDATE).
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/kernel/call.h"
#include "engine/kernel/call_table.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

/// A call with other arguments, and what they point at.
class ReplacedCall {
 public:
  explicit ReplacedCall(const CallArguments& made);

  const long (&arguments() const)[6] { return arguments_; }
  /// The outcome, where the kernel need not be asked.
  std::optional<long> known() const { return known_; }
  /// The kernel has answered: what it wrote goes where the program has it.
  void give_back(GuestMemory& memory, long result) const;

 private:
  friend class HiddenDescriptors;
  using Bytes = std::vector<std::byte>;

  long arguments_[6];
  std::optional<long> known_;
  std::vector<std::unique_ptr<Bytes>> pieces_;  // of memory that the kernel reads instead of the program's
  const Bytes* answered_ = nullptr;             // the one that it writes, too,
  std::uint64_t from_ = 0;                      // and where the program has that
  DescriptorsInMemory elements_;
};

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
  std::unique_ptr<std::vector<std::byte>> without_hidden(const msghdr& header) const;

  GuestMemory& memory_;
  const ThreadSet& threads_;
  const RunSettings& settings_;
};

}  // namespace zs::engine
