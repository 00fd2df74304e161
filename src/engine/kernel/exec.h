// execve of the program: the new image runs under the engine too, where that can be, and else natively.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/kernel/threads.h"
#include "engine/loader/exec_check.h"

namespace zs::engine {

class Exec {
 public:
  Exec(KernelParts& parts, Threads& threads) : parts_(parts), threads_(threads) {}

  /// request  whose pid and own_exe are not known yet
  /// Signals are held. Comes back if the kernel refuses: as if nothing had happened.
  long call(ExecRequest request);
  /// By what this process has denied itself.
  void bind_native_image() const;

 private:
  unsigned keep_own_descriptors() const;
  void pass_on_own_descriptors(unsigned which) const;
  std::vector<std::string> words_for(const ExecDecision& decision);
  /// Comes back if the kernel refuses.
  long start(const ExecRequest& request, const ExecDecision& decision, bool follow);

  KernelParts& parts_;
  Threads& threads_;
};

}  // namespace zs::engine
