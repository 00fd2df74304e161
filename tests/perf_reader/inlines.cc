// A program with a function that is inlined into another, and time to be sampled in.
#include <cstdio>

namespace shop {

inline int twice(int x) {
  volatile int y = x;  // stays an instruction of this line
  return y + y;
}

__attribute__((noinline)) int price(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) sum ^= twice(i);
  return sum;
}

}  // namespace shop

extern "C" __attribute__((noinline)) int checkout(int n) { return shop::price(n) + 1; }

int main(int argc, char**) {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) sum ^= checkout(40000 + argc);
  std::printf("%d\n", sum);
}
