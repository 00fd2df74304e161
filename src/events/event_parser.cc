#include "events/event_parser.h"

#include <algorithm>
#include <utility>

#include "events/event_draft.h"

namespace zs::session {
namespace {

using namespace event_list;

class Parser {
 public:
  Parser(std::string_view text, const Vocabulary& vocabulary) : text_{text}, vocabulary_(vocabulary) {}

  Result<std::vector<EventGroup>> list() {
    constexpr const char* kExample = "name an event, as in -e instructions:ppp";
    if (text_.size() > kLongestEventList)
      return Error{"event list: " + std::to_string(text_.size()) + " bytes long, and at most " +
                       std::to_string(kLongestEventList) + " are read",
                   kExample};
    if (trimmed(text_).empty()) return Error{"event list: empty", kExample};

    std::vector<EventGroup> groups;
    std::size_t events = 0;
    for (;; ++position_) {
      skip_blanks();
      const std::size_t start = column();
      auto group = item();
      if (!group) return group.error();
      events += group->events.size();
      if (events > kMostParsedEvents) return at(start, "more than " + std::to_string(kMostParsedEvents) + " events");
      groups.push_back(std::move(*group));
      skip_blanks();
      if (at_end()) return groups;
      if (at_char('}')) return at(column(), "'}' without a '{' before it");
      if (!at_char(','))
        return at(column(), "expected ',' or the end, found " + quoted(text_.bytes.substr(position_, 1)));
    }
  }

 private:
  bool at_end() const { return position_ == text_.size(); }
  bool at_char(char c) const { return !at_end() && text_.bytes[position_] == c; }
  std::size_t column() const { return position_ + 1; }

  void skip_blanks() {
    while (!at_end() && is_blank(text_.bytes[position_])) ++position_;
  }

  Result<EventGroup> item() {
    std::vector<Text> members;
    Modifiers modifiers;
    if (at_char('{')) {
      auto texts = braced();
      if (!texts) return texts.error();
      members = std::move(*texts);
      const auto read = group_modifiers();
      if (!read) return read.error();
      modifiers = *read;
    } else {
      const auto text = event_text();
      if (!text) return text.error();
      members.push_back(*text);
    }
    EventGroup group;
    for (const Text member : members) {
      auto parsed = event(member, modifiers);
      if (!parsed) return parsed.error();
      group.events.push_back(std::move(*parsed));
    }
    return group;
  }

  /// From the opening brace to behind the closing one.
  Result<std::vector<Text>> braced() {
    const std::size_t open = column();
    std::vector<Text> members;
    ++position_;
    skip_blanks();
    if (at_char('}')) return at(open, "the group is empty");
    for (;; ++position_) {
      skip_blanks();
      if (at_end()) return at(open, "the '{' here is not closed");
      if (at_char('{')) return at(column(), "groups do not nest");
      const auto text = event_text();
      if (!text) return text.error();
      members.push_back(*text);
      if (at_end()) return at(open, "the '{' here is not closed");
      if (at_char('{')) return at(column(), "groups do not nest");
      if (at_char('}')) break;
    }
    ++position_;
    return members;
  }

  /// What may follow a closing brace: ":ppu".
  Result<Modifiers> group_modifiers() {
    Modifiers modifiers;
    if (!at_char(':')) return modifiers;
    ++position_;
    const std::size_t end = std::min(text_.bytes.find_first_of(",{}", position_), text_.size());
    const Text letters = trimmed(text_.from(position_).first(end - position_));
    position_ = end;
    for (const Text segment : split(letters, ':')) {
      if (const auto read = read_modifiers(segment, false, modifiers); !read) return read.error();
    }
    return modifiers;
  }

  /// Up to the next comma or brace outside slashes.
  Result<Text> event_text() {
    const std::size_t start = position_;
    std::size_t slash = 0, quote = 0;  // columns where they opened; 0: not inside one
    for (; !at_end(); ++position_) {
      const char c = text_.bytes[position_];
      if (quote != 0) {
        if (c == '\'') quote = 0;
      } else if (slash != 0) {
        if (c == '\'') quote = column();
        if (c == '/') slash = 0;
      } else if (c == '/') {
        slash = column();
      } else if (c == ',' || c == '{' || c == '}') {
        break;
      }
    }
    if (quote != 0) return at(quote, "the quote that opens here is not closed");
    if (slash != 0) return at(slash, "the '/' here is not closed");
    const Text text = trimmed(text_.from(start).first(position_ - start));
    if (text.empty()) return at(start + 1, "an event name is missing", "events are separated by one comma");
    return text;
  }

  Result<ParsedEvent> event(Text text, const Modifiers& of_group) const {
    const bool in_slashes = text.bytes.find('/') != std::string_view::npos;
    auto draft = in_slashes ? read_terms(text, vocabulary_) : read_named(text, vocabulary_);
    if (!draft) return draft.error();
    draft->modifiers.add(of_group);
    const bool kernel = draft->modifiers.kernel_column != 0, user = draft->modifiers.user.value_or(false);
    if (kernel && !vocabulary_.ring_0) {
      return at(draft->modifiers.kernel_column, "ring-0 counting is not modelled",
                "leave it out: what the program retires in ring 3 is counted");
    }
    auto event = choose(*draft, text, vocabulary_.cpu);
    if (event && vocabulary_.ring_0) {
      event->user = user || !kernel;
      event->kernel = kernel || !user;
    }
    return event;
  }

  Text text_;
  Vocabulary vocabulary_;
  std::size_t position_ = 0;
};

}  // namespace

Result<std::vector<EventGroup>> parse_events(std::string_view text, const arch::CpuModel& cpu, const EventNames* more,
                                             bool ring_0) {
  return Parser(text, {cpu, more, ring_0}).list();
}

}  // namespace zs::session
