// What was drained of the trace: the exits that its records name, oldest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace zs::engine {

struct Records {
  std::span<std::uint32_t> stored;
  std::optional<std::uint32_t> extra;  // behind them, of TraceForm::Records: one that was not stored

  std::size_t size() const { return stored.size() + (extra ? 1 : 0); }
  std::uint32_t operator[](std::size_t at) const { return at < stored.size() ? stored[at] : *extra; }
};

}  // namespace zs::engine
