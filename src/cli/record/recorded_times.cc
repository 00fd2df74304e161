#include "cli/record/recorded_times.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/items.h"
#include "base/number.h"
#include "cli/command/say.h"

namespace zs::cli {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000, kMostMs = 1'000'000'000'000;
constexpr const char* kDelays = "-D 500: after half a second; -D -1: not before it is enabled; -D 10-20,30-40: spans";
constexpr const char* kControls = "--control fifo:COMMANDS,ACKNOWLEDGEMENTS or fd:N,N; the second may be left out";

}  // namespace

Result<RecordedTimes> RecordedTimes::make(const std::string& delay, const std::string& control) {
  RecordedTimes times;
  if (auto parsed = times.parse_delay(delay); !parsed) return parsed.error();
  if (auto opened = times.open_control(control); !opened) return opened.error();
  if (times.descriptor_ >= 0 && delay.empty()) times.spans_ = {{0, kForEver}};
  return times;
}

Result<void> RecordedTimes::parse_delay(const std::string& text) {
  if (text.empty() || text == "0") return {};
  if (text == "-1") {
    spans_ = {{0, 0}};
    return {};
  }
  for (const std::string_view item : items_of(text)) {
    const std::size_t dash = item.find('-');
    const auto from = whole_number<std::uint64_t>(item.substr(0, dash));
    const auto to = dash == std::string_view::npos ? kMostMs : whole_number<std::uint64_t>(item.substr(dash + 1));
    const bool right = from && to && *from < *to && *to <= kMostMs && (dash != item.npos || item == text);
    if (!right || (!spans_.empty() && *from * kNsPerMs < spans_.back().to))
      return Error{"-D " + text + ": '" + std::string(item) + "' is no time in milliseconds", kDelays};
    spans_.push_back({*from * kNsPerMs, dash == item.npos ? kForEver : *to * kNsPerMs});
  }
  return {};
}

Result<void> RecordedTimes::open_control(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string kind = text.substr(0, colon);
  int* const into[] = {&descriptor_, &acknowledge_};
  std::size_t count = 0;
  for (const std::string_view item : items_of(std::string_view(text).substr(std::min(colon + 1, text.size())))) {
    const std::string place(item);
    int opened = -1;
    errno = 0;
    if (kind == "fifo") {  // for reading and writing: nobody else need have opened it
      opened = open(place.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    } else if (const auto number = whole_number<int>(item); kind == "fd" && number) {
      opened = fcntl(*number, F_DUPFD_CLOEXEC, 0);
    }
    if (opened < 0 || count == std::size(into))
      return Error{
          "--control " + text + ": " + (errno != 0 ? place + ": " + std::strerror(errno) : "no place for commands"),
          kControls};
    *into[count++] = opened;
  }
  return {};
}

void RecordedTimes::begin(std::uint64_t time_ns) {
  if (std::exchange(begun_, true)) return;
  for (Span& span : spans_) {
    span.from += time_ns;
    if (span.to != kForEver) span.to += time_ns;
  }
}

bool RecordedTimes::includes(std::uint64_t time_ns) const {
  return spans_.empty() ||
         std::ranges::any_of(spans_, [time_ns](const Span& span) { return span.from <= time_ns && time_ns < span.to; });
}

void RecordedTimes::take_commands(std::uint64_t now_ns) {
  char text[256];
  for (;;) {
    const ssize_t got = read(descriptor_, text, sizeof text);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0 || (got < 0 && errno != EAGAIN)) {  // nobody will say more
      close(descriptor_);
      descriptor_ = -1;
    }
    if (got <= 0) return;
    half_.append(text, static_cast<std::size_t>(got));
    for (std::size_t end = half_.find_first_of(std::string_view("\n\0", 2)); end != std::string::npos;
         end = half_.find_first_of(std::string_view("\n\0", 2))) {
      obey(half_.substr(0, end), now_ns);
      half_.erase(0, end + 1);
    }
    if (got < static_cast<ssize_t>(sizeof text)) return;
  }
}

void RecordedTimes::obey(const std::string& command, std::uint64_t now_ns) {
  const bool enabled = includes(now_ns);
  if (command == "enable") {
    if (!enabled) spans_.push_back({now_ns, kForEver});
  } else if (command == "disable" || command == "stop") {
    for (Span& span : spans_) span.to = std::min(span.to, std::max(span.from, now_ns));
  } else if (command != "ping") {
    if (!command.empty()) say("--control: '" + command + "' is none of enable, disable, stop, ping");
    return;
  }
  if (acknowledge_ >= 0) write_all(acknowledge_, std::string_view("ack\n\0", 5));
}

}  // namespace zs::cli
