// System calls that change code behind its mappings: through /proc/self/mem, by making its file shorter, or by opening
// it for writing.
#pragma once

#include "engine/kernel/guest_code.h"
#include "engine/kernel/written_files.h"
#include "engine/run.h"

namespace zs::engine {

class CodeFiles {
 public:
  CodeFiles(Run& run, GuestCode& code, WrittenFiles& written) : run_(run), code_(code), written_(written) {}

  /// The program has a descriptor of its own memory through which it may write, also where it may not otherwise.
  void memory_is_writable() { writes_own_memory_ = true; }
  /// A system call has ended.
  void note_call(long number, const long (&a)[6], long result);

 private:
  void note_write_to_own_memory(long number, const long (&a)[6], long written);
  void note_shorter_file(long number, const long (&a)[6], long result);
  void note_file_opened_for_writing(long number, const long (&a)[6], long result);
  void code_of_file_changes(const struct stat& file);

  Run& run_;
  GuestCode& code_;
  WrittenFiles& written_;
  bool writes_own_memory_ = false;
};

}  // namespace zs::engine
