#include "events/modifiers.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "arch/events/event.h"

namespace zs::session::event_list {
namespace {

using arch::PerfEvtSel;

/// "upp" as perf writes it.
Result<void> read_letters(Text letters, Modifiers& out) {
  int precise = 0;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    const std::size_t column = letters.column + i;
    switch (letters.bytes[i]) {
      case 'u':
      case 'U': out.user = true; break;
      case 'p': ++precise; break;
      case 'P': out.most_precise = true; break;
      case 'k':
      case 'K': out.kernel_column = column; break;
      case 'h': return at(column, "counting in the hypervisor is not modelled", kModifierHint);
      case 'G': return at(column, "counting in a guest is not modelled", kModifierHint);
      case 'S': return at(column, "':S' (sample the group's leader only) is not in this version", kModifierHint);
      case 'D':  // pinned: every event is counted all the time
      case 'W':  // weak group: likewise
      case 'e':  // exclusive: nothing else uses the counters
      case 'I':  // not while idle: a thread's own counters never count that
      case 'H':  // in the host: where the program runs
        break;
      default:
        return at(column,
                  "unknown modifier " + quoted(letters.bytes.substr(i, 1)) + " in " +
                      quoted(":" + std::string(letters.bytes)),
                  kModifierHint);
    }
  }
  if (precise > 3)
    return at(letters.column, "':" + std::string(static_cast<std::size_t>(std::min(precise, 40)), 'p') +
                                  (precise > 40 ? "...' asks for precision " : "' asks for precision ") +
                                  std::to_string(precise) + ", and 3 (:ppp) is the most");
  if (precise > out.precise || out.most_precise) out.precise_column = letters.column;
  out.precise = std::max(out.precise, precise);
  return {};
}

/// libpfm4's attributes: c=2, e, i, t, u=1, k=0, precise=2; a letter alone means 1.
Result<void> read_attribute(Text key, std::optional<Text> value, Modifiers& out) {
  const auto is = [&](std::string_view name) { return arch::equal_case_blind(key.bytes, name); };
  const bool counts = is("c") || is("cmask");
  const bool precision = is("precise");
  const bool flag = is("u") || is("k") || is("h") || is("e") || is("i") || is("t");
  if (!counts && !precision && !flag)
    return at(key.column, "unknown attribute " + quoted(key.bytes), "libpfm4 attributes are u, c=N, e, i and t");
  std::uint64_t number = 1;
  if (value) {
    const auto read = number_in(*value, key.bytes, counts ? 0xFF : precision ? 3 : 1);
    if (!read) return read.error();
    number = *read;
  } else if (!flag) {
    return at(key.column, quoted(key.bytes) + " needs a value, as in " + std::string(key.bytes) + "=1");
  }
  if (is("u")) {
    out.user = number != 0;
  } else if (is("k") || is("h")) {
    if (number != 0) out.kernel_column = key.column;
  } else if (precision) {
    out.precise = std::max(out.precise, static_cast<int>(number));
    out.precise_column = key.column;
  } else {
    if (counts) out.added = out.added.with(PerfEvtSel::cmask, number);
    if (is("e")) out.added = out.added.with(PerfEvtSel::edge, number);
    if (is("i")) out.added = out.added.with(PerfEvtSel::invert, number);
    if (is("t")) out.added = out.added.with(PerfEvtSel::any, number);
    if (out.added_column == 0) out.added_column = key.column;
  }
  return {};
}

bool is_libpfm_attribute(Text segment, bool libpfm_spelling) {
  if (segment.bytes.find('=') != std::string_view::npos) return true;
  if (segment.size() != 1) return false;
  const char letter = arch::lower(segment.bytes[0]);
  return letter == 'i' || letter == 't' || letter == 'c' || (letter == 'e' && libpfm_spelling);
}

}  // namespace

void Modifiers::add(const Modifiers& more) {
  if (more.user) user = more.user;
  if (more.kernel_column != 0) kernel_column = more.kernel_column;
  if (more.precise > precise || more.most_precise) precise_column = more.precise_column;
  precise = std::max(precise, more.precise);
  most_precise |= more.most_precise;
  if (more.added_column != 0) {
    added = PerfEvtSel{added.raw() | more.added.raw()};
    added_column = more.added_column;
  }
}

bool looks_like_modifiers(Text segment) {
  constexpr std::string_view kLetters = "ukhpPGSDWeIHUKcit";
  return segment.bytes.find('=') != std::string_view::npos ||
         segment.bytes.find_first_not_of(kLetters) == std::string_view::npos;
}

Result<void> read_modifiers(Text segment, bool libpfm_spelling, Modifiers& out) {
  if (segment.empty()) return at(segment.column, "a modifier is missing after ':'", kModifierHint);
  if (!is_libpfm_attribute(segment, libpfm_spelling)) return read_letters(segment, out);
  const std::size_t equals = segment.bytes.find('=');
  if (equals == std::string_view::npos) return read_attribute(segment, std::nullopt, out);
  return read_attribute(segment.first(equals), segment.from(equals + 1), out);
}

}  // namespace zs::session::event_list
