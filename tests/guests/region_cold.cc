// Functions that control gets into or back to without a call: the landing pads that a compiler puts apart (catcher.cold),
// a first instruction that is a loop's, a call whose place an earlier one had that an exception left, and one in itself.
// tests/windows and tests/perf_reader know the numbers.
// build: dynamic
// run:
#include <cstdio>
#include <stdexcept>

extern "C" int spins(int turns);
asm(".pushsection .text\n"
    ".type spins, @function\n"
    "spins: dec %edi\n"
    "  jnz spins\n"
    "  mov $1, %eax\n"
    "  ret\n"
    ".size spins, . - spins\n"
    ".popsection");

namespace {

[[gnu::noinline]] int thrower(int i) {
  if (i % 2 != 0) throw std::runtime_error("odd");
  return i;
}

[[gnu::noinline]] int catcher(int i) {
  try {
    return thrower(i);
  } catch (const std::runtime_error&) {
    return -1;
  }
}

[[gnu::noinline]] int fibonacci(int n) {
  int sum = n;
  if (n >= 2) {
    sum = fibonacci(n - 1);
    asm volatile("" : "+r"(sum));  // else one call of the two becomes a loop
    sum += fibonacci(n - 2);
    asm volatile("" : "+r"(sum));
  }
  return sum;
}

}  // namespace

int main() {
  int sum = 0;
  for (int i = 0; i < 200; ++i) sum += catcher(i);
  for (int i = 0; i < 3; ++i) sum += spins(5);
  sum += fibonacci(10);
  std::printf("%d\n", sum);
}
