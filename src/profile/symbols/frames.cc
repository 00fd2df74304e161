#include "profile/symbols/frames.h"

#include <fmt/format.h>

#include <utility>

namespace zs::profile {

const Frame* Frames::intern(Key key, const Location& location, std::string function, bool named) {
  const auto [found, added] = known_.try_emplace(std::move(key), nullptr);
  if (added) {
    Frame frame;
    frame.dso = location.dso;
    frame.symbol = location.symbol;
    frame.address = location.symbol != nullptr ? value(location.symbol->start) : value(location.image_address);
    frame.level = location.level;
    frame.named = named;
    frame.inlined = !std::get<std::string>(found->first).empty();
    frame.name = frame.inlined ? function + " (inlined)" : function;
    frame.function = std::move(function);
    frame.number = static_cast<std::uint32_t>(frames_.size());
    frames_.push_back(std::move(frame));
    found->second = &frames_.back();
  }
  return found->second;
}

const Frame* Frames::of(const Location& location) {
  if (location.symbol == nullptr) {
    const std::uint64_t address = value(location.image_address);
    return intern({location.dso, nullptr, address, ""}, location, address != 0 ? fmt::format("{:#x}", address) : "0",
                  false);
  }
  if (location.symbol != last_symbol_) {
    last_frame_ = intern({location.dso, location.symbol, 0, ""}, location, location.symbol->name(), true);
    last_symbol_ = location.symbol;
  }
  return last_frame_;
}

const Frame* Frames::of_inlined(const Location& location, const std::string& function) {
  return intern({location.dso, location.symbol, 0, function}, location, function, true);
}

}  // namespace zs::profile
