// The tool's memory is not the program's: to each of its calls nothing is mapped there. A pointer into it, in an
// argument or in an array of iovec, is replaced by one to where nothing is mapped, and the kernel says what it says of
// such; a message with such a pointer is answered here.
// Not seen: pointers in what only one call knows (ioctl, prctl, bpf, control blocks of io_submit, rings of io_uring).
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/kernel/calls/replaced_call.h"

namespace zs::engine {

class HiddenMemory {
 public:
  HiddenMemory(const GuestMemory& memory, const ThreadSet& threads) : memory_(memory), threads_(threads) {}

  /// The call to be made instead; null: this names none of the tool's memory.
  std::unique_ptr<ReplacedCall> replaced(const CallArguments& made) const;

 private:
  using Replacement = std::unique_ptr<ReplacedCall>;

  bool is_hidden(std::uint64_t address) const { return memory_.map.is_tools(address); }
  /// Where nothing is mapped, as far behind the beginning of a page.
  std::uint64_t nowhere_like(std::uint64_t address) const {
    return memory_.map.layout().nowhere() + (address & (kPageSize - 1));
  }
  void replace_in_memory(Replacement& into, const CallArguments& made, const WrittenMemory& where) const;
  void replace_in_vectors(Replacement& into, const CallArguments& made, const WrittenMemory& where) const;
  bool leads_there(const msghdr& header) const;
  std::vector<iovec> vectors_at(std::uint64_t address, std::uint64_t count) const;

  const GuestMemory& memory_;
  const ThreadSet& threads_;
};

}  // namespace zs::engine
