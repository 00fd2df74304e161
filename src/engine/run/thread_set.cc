#include "engine/run/thread_set.h"

namespace zs::engine {
namespace {

/// For a process that is not recorded.
class Nobody final : public Observer {
 public:
  VirtualCpu thread_started(const ThreadIdentity&) override { return {}; }
  void thread_exited(const ThreadIdentity&) override {}
  void pmi(const ThreadIdentity&, const arch::RegisterFile&) override {}
  void forked(const ThreadIdentity&, bool) override {}
  void in_forked_child() override {}
  void renamed(const ThreadIdentity&, const std::string&, bool) override {}
  void mapped(const ThreadIdentity&, const Mapping&) override {}
  void flush(const ThreadIdentity&) override {}
  void notice(const std::string&) override {}
  void refused(const std::string&) override {}
};

}  // namespace

Observer& ThreadSet::observer() const {
  static Nobody nobody;
  return thread->process->recorded ? recording : nobody;
}

}  // namespace zs::engine
