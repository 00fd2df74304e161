// What changed between two sides that were counted: recordings, files of counts, baselines. Functions are matched by
// name, without what compilers append to it, in the same file or else in any; then by the shape of their code, then by
// the line they begin at, so that what moved or was renamed is not new. Where a function is inlined on one side alone,
// its inlined code is counted with it. Lines of a function are matched by where they stand in it.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zs::report {

/// A count, and how far it may be off: exact counts by nothing.
struct Sum {
  double value = 0, squared_error = 0;

  void add(const Sum& more) {
    value += more.value;
    squared_error += more.squared_error;
  }
  double error() const { return std::sqrt(squared_error); }
};

/// Its file without folders, and its number.
using SourcePlace = std::pair<std::string, int>;

/// Of a function's instructions, without what moves with it: what is there to fill up, how far jumps and calls lead,
/// and addresses. 0: not known.
struct CodeHash {
  std::uint32_t opcodes = 0;  // of a function that was renamed or moved the same
  std::uint32_t all = 0;      // with registers, immediates and offsets: the same only where nothing was changed

  bool is_known() const { return opcodes != 0; }
  bool operator==(const CodeHash&) const = default;
};

struct FunctionCounts {
  std::string name;    // as people read it, without_suffixes()
  std::string dso;     // "gzip", "libc.so.6"
  SourcePlace begins;  // number 0: not known
  CodeHash code;
  /// These are counts of code of other functions, which is inlined there: their names, innermost first.
  std::vector<std::string> inlined;
  Sum sum;
  std::map<SourcePlace, Sum> lines;
};

/// What was counted of an event.
struct EventCounts {
  std::string event, value_class;  // "instructions:u", "exact"
  Sum whole;
  std::vector<FunctionCounts> functions;  // none where only the whole is known; several of one, by what is inlined
};

/// A count on both sides. Nothing on one of them: it is not there.
struct Change {
  std::string name, before;  // before: what it was called, where that was otherwise
  std::string dso;
  SourcePlace begins;
  std::optional<Sum> a, b;
  bool same_code = false;  // of a function: it only ran otherwise, or where it ran not at all, others of its file did
  std::vector<Change> lines;  // largest first; named "gzip.c:12"

  double value_a() const { return a ? a->value : 0; }
  double value_b() const { return b ? b->value : 0; }
  double difference() const { return value_b() - value_a(); }
  double error() const { return std::hypot(a ? a->error() : 0, b ? b->error() : 0); }
  /// The difference may be nothing but chance.
  bool is_within_error() const { return std::abs(difference()) <= error() && error() != 0; }
};

struct EventChange {
  std::string class_a, class_b;   // "": the event is not there
  Change whole;                   // named as the event
  std::vector<Change> functions;  // those of the same code last; largest difference first
};

/// "parse" for "parse.part.0", "parse.constprop.0.isra.0", "parse.cold", "parse.lto_priv.3".
std::string_view without_suffixes(std::string_view name);

/// Of a table that keeps the largest functions alone: the sum of the others.
inline constexpr const char* kOtherFunctions = "[other functions]";

/// One for each function. What is inlined of one that stands in `own` is counted with it, what is of others with the
/// function that it is inlined in.
std::vector<FunctionCounts> joined_functions(const std::vector<FunctionCounts>& parts,
                                             const std::set<std::string>& own);

/// The names of functions that have code of their own.
std::set<std::string> own_names(const std::vector<FunctionCounts>& parts);

/// Of each function the change is told, of those that did not change too. What a table with kOtherFunctions would not
/// keep is told as a part of those.
std::vector<Change> function_changes(const EventCounts& a, const EventCounts& b);

/// Events are matched by name; those that differ in modifiers alone ("instructions", "instructions:u") are one.
std::vector<EventChange> changes(const std::vector<EventCounts>& a, const std::vector<EventCounts>& b);

}  // namespace zs::report
