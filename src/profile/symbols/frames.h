// A frame is what a call graph has nodes for: one function of one image, or one function inlined into it, or a bare
// address that nothing names. Each exists once, so frames compare by pointer.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>

#include "profile/symbols/symbolizer.h"

namespace zs::profile {

struct Frame {
  std::string name;      // "Ledger::post", "push_back (inlined)"; "0x7f001000" where no symbol is
  std::string function;  // "push_back"
  const Dso* dso = nullptr;
  const Symbol* symbol = nullptr;
  std::uint64_t address = 0;  // in the image: of the symbol, or of the place itself
  char level = '.';
  bool named = false;
  bool inlined = false;
  std::uint32_t number = 0;  // in order of appearance
};

class Frames {
 public:
  /// The frame of a location: its symbol, or its address.
  const Frame* of(const Location& location);
  /// The frame of `function`, inlined into the symbol of `location`.
  const Frame* of_inlined(const Location& location, const std::string& function);

 private:
  using Key = std::tuple<const Dso*, const Symbol*, std::uint64_t, std::string>;
  const Frame* intern(Key key, const Location& location, std::string function, bool named);

  std::map<Key, const Frame*> known_;
  std::deque<Frame> frames_;
  const Symbol* last_symbol_ = nullptr;
  const Frame* last_frame_ = nullptr;
};

}  // namespace zs::profile
