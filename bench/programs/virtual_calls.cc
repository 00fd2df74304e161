// Virtual calls through a mixed array, and Fibonacci by recursion: the worst case for indirect branches and returns.
#include <cstdint>
#include <cstdio>
#include <memory>
#include <vector>

namespace {
struct Shape {
  virtual ~Shape() = default;
  virtual std::uint64_t value(std::uint64_t x) const = 0;
};
struct Plus final : Shape {
  std::uint64_t value(std::uint64_t x) const override { return x + 3; }
};
struct Times final : Shape {
  std::uint64_t value(std::uint64_t x) const override { return x * 5; }
};
struct Mixed final : Shape {
  std::uint64_t value(std::uint64_t x) const override { return x ^ (x >> 9); }
};
[[gnu::noinline]] int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
}  // namespace

int main() {
  std::vector<std::unique_ptr<Shape>> shapes;
  std::uint32_t random = 1;
  for (int i = 0; i < 1000; ++i) {
    random = random * 1664525 + 1013904223;
    switch (random >> 30) {
      case 0: shapes.push_back(std::make_unique<Plus>()); break;
      case 1: shapes.push_back(std::make_unique<Times>()); break;
      default: shapes.push_back(std::make_unique<Mixed>()); break;
    }
  }
  std::uint64_t x = 1;
  for (int round = 0; round < 120000; ++round) {
    for (const auto& shape : shapes) x = shape->value(x);
  }
  std::printf("%llu %d\n", static_cast<unsigned long long>(x), fibonacci(37));
}
