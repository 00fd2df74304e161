// How far a recording has come, on stderr: one line that is rewritten on a terminal, a plain line every 30 seconds in a
// log, or nothing. A terminal that the program's output goes to has none: what it prints would share the line. One that
// reads keys instead of lines belongs to a full-screen program (an editor, a pager), whoever started it: nothing is
// drawn there, nor taken off.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "cli/run/collector.h"

namespace zs::cli {

enum class ProgressStyle { Silent, Terminal, Log };

/// Terminal where stderr is one that can rewrite a line, and stdout is none, or what goes there goes `through_us`, so
/// that the line is taken off before; otherwise Log if `verbose`. Silent if `quiet`.
ProgressStyle progress_style(bool quiet, bool verbose, bool through_us = false);

/// Whether `terminal` is in the mode in which shells and programs that print lines leave it; so is what is none.
bool reads_lines(int terminal);

/// "12 s: 1.21 G instructions, 93 MIPS, 1.1 % in detail, 48,112 samples, 9.8 MB"
std::string progress_text(const Progress& progress);

class ProgressLine {
 public:
  explicit ProgressLine(ProgressStyle style) : style_(style) {}
  ~ProgressLine() { clear(); }

  void show(const Progress& progress) { show(progress.seconds, progress_text(progress)); }
  /// seconds  since the beginning
  void show(double seconds, const std::string& text);
  /// Takes the line off the terminal, so that others can write there.
  void clear();

 private:
  ProgressStyle style_;
  bool shown_ = false;
  double next_log_seconds_ = 30;
};

}  // namespace zs::cli
