// Which of a program's processes, images and threads are counted: --follow and --comm. All of them run in zeroskid-run
// and tell what they counted; what was not asked for goes no further than here.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "cli/run/collector.h"

namespace zs::cli {

struct FollowOptions {
  bool fork = true;    // children
  bool exec = true;    // what a process executes
  bool thread = true;  // threads besides a process's first
  std::string comm;    // only images of this name, as the kernel has it; "": of all
};

/// text  "fork,exec,thread", any of them, or "none"
Result<void> parse_follow(const std::string& text, FollowOptions& options);

class FollowFilter final : public RecordingSink {
 public:
  /// sink  gets what is counted; must outlive this
  FollowFilter(FollowOptions options, RecordingSink& sink) : options_(std::move(options)), sink_(sink) {}

  void receive(session::Message&& message) override;
  void breathe() override { sink_.breathe(); }
  std::uint64_t bytes() const override { return sink_.bytes(); }

  /// Something was counted.
  bool any() const { return any_; }

 private:
  struct Process {
    bool followed = true;
    bool named = true;  // its image has the wanted name
    bool held = false;  // its Hello waits for its name
    session::Hello hello;
  };

  void begin(const session::Hello& hello);
  void name(session::Comm&& comm);
  void fork(const session::Fork& fork);
  bool is_counted(std::int32_t pid, std::int32_t tid);
  void pass(session::Message&& message);

  FollowOptions options_;
  RecordingSink& sink_;
  std::map<std::int32_t, Process> processes_;
  bool any_ = false;
};

}  // namespace zs::cli
