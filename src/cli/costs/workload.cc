#include "cli/costs/workload.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace zs::cli {
namespace {

/// Numbers that look like chance. source: G. Marsaglia, "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003.
class Numbers {
 public:
  std::uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    return state_ ^= state_ << 17;
  }

 private:
  std::uint64_t state_ = 88172645463325252;
};

std::uint64_t sort_some(Numbers& numbers) {
  std::vector<std::uint64_t> some(16384);
  std::ranges::generate(some, [&] { return numbers.next(); });
  std::ranges::sort(some);
  return some[some.size() / 3];
}

/// Each element names the next: a load waits for the one before.
std::uint64_t follow(const std::vector<std::uint32_t>& chain) {
  std::uint32_t at = 0;
  for (int i = 0; i < 100000; ++i) at = chain[at];
  return at;
}

std::uint64_t sum_rows(std::vector<double>& rows) {
  for (int pass = 0; pass < 20; ++pass) {
    for (std::size_t i = 1; i < rows.size(); ++i) rows[i] = rows[i - 1] * 0.25 + rows[i] * 0.5 + 1.0;
  }
  return static_cast<std::uint64_t>(rows.back() * 1000);
}

}  // namespace

std::uint64_t do_workload(std::uint64_t rounds) {
  if (rounds == 0) return 0;
  Numbers numbers;
  std::vector<std::uint32_t> chain(std::size_t{1} << 18);  // 1 MiB
  for (std::size_t i = 0; i < chain.size(); ++i) chain[i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = chain.size() - 1; i > 0; --i) std::swap(chain[i], chain[numbers.next() % i]);  // one cycle
  std::vector<double> rows(16384, 1.0);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < rounds; ++i) sum += sort_some(numbers) + follow(chain) + sum_rows(rows);
  return sum;
}

}  // namespace zs::cli
