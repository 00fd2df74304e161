// What a verb prints on stdout. On a terminal it goes through a pager, as with git and perf: $ZEROSKID_PAGER, else
// $PAGER, else less, which gets LESS=FRX if LESS is not set: it ends at once if all fits the screen, and shows colours.
// None where stdout is no terminal, where TERM is dumb, where the variable is empty or "cat", with --no-pager.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace zs::cli {

/// By these variables; "" for none.
std::string pager_command();

/// After the first failure, which is said, nothing more is written.
class Page {
 public:
  enum class Pager { Wanted, None };
  explicit Page(Pager pager = Pager::Wanted) : wants_pager_(pager == Pager::Wanted) {}
  ~Page() { end(); }
  Page(const Page&) = delete;
  Page& operator=(const Page&) = delete;

  /// The pager starts with the first text, so that what fails before is said without one.
  void print(std::string_view text);
  /// Waits for the pager, if there is one: what is said on stderr afterwards is not in its way.
  void end();
  bool ok() const { return ok_; }
  /// Ends it. returns 0, or the status of a failure of ours; that a reader has seen enough is none
  int status();

 private:
  void start_pager();

  bool wants_pager_;
  bool started_ = false;
  bool ok_ = true;
  int pipe_ = -1;
  pid_t pager_ = -1;
  std::string command_;
};

}  // namespace zs::cli
