// System calls that change code behind its mappings: through /proc/self/mem, by making its file shorter, or by opening
// it for writing.
#pragma once

#include <optional>

#include "engine/call.h"
#include "engine/kernel/code/guest_code.h"
#include "engine/kernel/code/written_files.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

class CodeFiles {
 public:
  CodeFiles(GuestMemory& memory, const ThreadSet& threads, GuestCode& code, WrittenFiles& written)
      : memory_(memory), threads_(threads), code_(code), written_(written) {}

  /// The program has a descriptor of its own memory through which it may write, also where it may not otherwise.
  void memory_is_open(bool writable) {
    own_memory_is_open_ = true;
    writes_own_memory_ = writes_own_memory_ || writable;
  }
  /// Through /proc/self/mem, at memory of the tool's: the program has nothing there.
  std::optional<long> answer_outside_program(const CallArguments& made) const;
  /// A system call has ended.
  void note_call(const CallArguments& made, long result);

 private:
  void note_write_to_own_memory(const CallArguments& made, long written);
  void note_shorter_file(const CallArguments& made, long result);
  void note_file_opened_for_writing(const CallArguments& made, long result);
  void code_of_file_changes(const struct stat& file);

  GuestMemory& memory_;
  const ThreadSet& threads_;
  GuestCode& code_;
  WrittenFiles& written_;
  bool own_memory_is_open_ = false, writes_own_memory_ = false;
};

}  // namespace zs::engine
