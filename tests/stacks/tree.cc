// The same of C++: exceptions that leave several functions, destructors on their way, rethrown ones, virtual calls,
// functions of
// templates with long names, and code that a thread of the library runs.
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define NODE extern "C" __attribute__((noinline, noclone))
#define KEEP(value) __asm__ volatile("" : "+r"(value))

static long destroyed;

NODE void node_1_1_1_1(long x) {
  if (x % 3 == 0) throw std::runtime_error("three");
  if (x % 7 == 0) throw x;
}
NODE void in_destructor(long x) {
  for (int i = 0; i < 9; ++i) destroyed += x ^ i;
}
struct Guard {
  long value;
  ~Guard() {
    in_destructor(value);
    __asm__ volatile("" : : : "memory");
  }
};
NODE long node_1_1_1(long x) {
  const Guard guard{x};
  node_1_1_1_1(x);
  return x + 1;
}
NODE long node_1_1(long x) {
  try {
    x = node_1_1_1(x);
    KEEP(x);
  } catch (const std::runtime_error&) {
    if (x % 2 == 0) throw;
    return x + 5;
  }
  return x;
}
NODE long node_1(long x) {
  try {
    x = node_1_1(x);
    KEEP(x);
  } catch (const std::exception& error) {
    return x + error.what()[0];
  } catch (long thrown) {
    return thrown + 2;
  }
  return x;
}

struct Shape {
  virtual ~Shape() = default;
  virtual long area(long x) const = 0;
};
NODE long node_2_1(long x) {
  for (int i = 0; i < 9; ++i) x += x >> 2 ^ i;
  return x;
}
struct Square final : Shape {
  __attribute__((noinline)) long area(long x) const override {
    x = node_2_1(x);
    KEEP(x);
    return x;
  }
};
NODE long node_2(long x, const Shape& shape) {
  x = shape.area(x);
  KEEP(x);
  return x;
}

NODE long node_3_1(long x) {
  std::map<std::string, long> words;
  for (int i = 0; i < 8; ++i) words[std::to_string(x * i)] += i;
  return x + static_cast<long>(words.size());
}
NODE long node_3(long x) {
  const std::function<long(long)> call = [](long y) {
    y = node_3_1(y);
    KEEP(y);
    return y;
  };
  x = call(x);
  KEEP(x);
  return x;
}

NODE void thread_1(long* x) {
  for (int i = 0; i < 100; ++i) *x = *x * 5 + i;
}

int main() {
  const Square square;
  long in_thread = 1;
  std::thread other([&] {
    for (int i = 0; i < 30; ++i) {
      thread_1(&in_thread);
      __asm__ volatile("" : : : "memory");
    }
  });
  long x = 1;
  for (long i = 0; i < 500; ++i) {
    x = node_1(i);
    KEEP(x);
    x += node_2(x, square);
    KEEP(x);
    x += node_3(x & 1023);
    KEEP(x);
  }
  other.join();
  std::printf("%d\n", x == destroyed);
}
