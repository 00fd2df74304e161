// A call that is made instead of the program's, with other arguments and what they point at.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/kernel/calls/call_table.h"
#include "engine/raw_syscall.h"
#include "engine/run/guest_memory.h"

namespace zs::engine {

class ReplacedCall {
 public:
  using Bytes = std::vector<std::byte>;

  explicit ReplacedCall(const CallArguments& made) { std::ranges::copy(made.a, arguments); }
  /// The one that is made instead of `made`; `into` has it as far as that is known by now.
  static ReplacedCall& of(const CallArguments& made, std::unique_ptr<ReplacedCall>& into) {
    if (into == nullptr) into = std::make_unique<ReplacedCall>(made);
    return *into;
  }

  /// The kernel reads these instead of the program's. returns where they lie
  std::byte* keep(Bytes bytes) { return pieces_.emplace_back(std::move(bytes)).data(); }
  void point_at(int argument, Bytes bytes) { arguments[argument] = reinterpret_cast<long>(keep(std::move(bytes))); }
  /// And it answers in them, element by element.
  void expect_answers(const Bytes& bytes, std::uint64_t programs, const DescriptorsInMemory& elements) {
    answered_ = bytes;
    programs_ = programs;
    elements_ = elements;
  }
  /// The kernel has answered: what it wrote goes where the program has it.
  void give_back(GuestMemory& memory, long result) const {
    for (std::size_t at = 0; at < answered_.size() && !is_error(result); at += elements_.size) {
      const std::size_t answer = at + elements_.answer_offset;
      memory.write(programs_ + answer, &answered_[answer], elements_.answer_size);
    }
  }

  long arguments[6];
  std::optional<long> known;  // the outcome, where the kernel need not be asked

 private:
  std::vector<Bytes> pieces_;
  std::span<const std::byte> answered_;
  std::uint64_t programs_ = 0;  // where the program has them
  DescriptorsInMemory elements_;
};

}  // namespace zs::engine
