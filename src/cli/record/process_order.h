// Under --virtual-time: puts what several processes tell into an order, with process and thread ids and on a time line,
// that follow from what they did, and not from how the host ran them beside one another.
//   * Each process is a stream of its own. A child's is opened where its parent's stream says that it was forked; until
//     then, and while somebody with an earlier time may still come, it waits in a temporary file.
//   * Of the streams that are open the one with the earliest time comes next; of equal ones, that of the older process.
//   * Ids are given in that order, from the first process's own on. Of a child whose parent was killed before it could
//     tell, the id and the place follow from the kernel's number.
//   * A new program image counts time from 0; here it goes on where the process was.
// While there is one process, what it tells is passed on at once.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "session/wire/wire.h"

namespace zs::cli {

class ProcessOrder {
 public:
  /// folder  where the temporary file may be; it is nameless, or in memory where that cannot be
  /// take    is handed every message but those that a parent and its child both tell a second time
  ProcessOrder(const std::string& folder, std::function<void(session::Message&&)> take);
  ~ProcessOrder();
  ProcessOrder(const ProcessOrder&) = delete;
  ProcessOrder& operator=(const ProcessOrder&) = delete;

  /// Messages of one process in its order, those of several as they arrive.
  Result<void> receive(session::Message&& message);
  /// Nothing more will come.
  Result<void> finish();

 private:
  struct Process;
  class Spool;
  using Place = std::tuple<std::uint64_t, std::int32_t, Process*>;  // time, id

  Result<void> keep(std::int32_t pid, const session::Message& message, bool begins);
  Process& add(std::int32_t pid);
  Process* waiting(std::int32_t pid);
  void open(Process& process, Process* parent);
  Result<void> pass_on(Process& process);
  void deliver(Process& process, session::Message&& message);
  void name(const Process& process, std::int32_t& pid, std::int32_t& tid) const;

  std::function<void(session::Message&&)> take_;
  std::unique_ptr<Spool> spool_;
  std::vector<std::unique_ptr<Process>> processes_;
  std::map<std::int32_t, Process*> last_of_;  // by the kernel's number, which may come again
  Process* first_ = nullptr;
  bool alone_ = true;
  std::int32_t next_id_ = 0;
  std::set<Place> places_;
};

}  // namespace zs::cli
