// C++ exceptions in a static program: the unwinder finds its tables through the program headers.
// build: static -O1
#include <cstdio>
#include <stdexcept>

[[gnu::noinline]] static int dive(int depth) {
  if (depth == 0) throw std::runtime_error("bottom");
  try {
    return dive(depth - 1) + 1;
  } catch (const std::runtime_error&) {
    if (depth % 10 == 0) return depth;
    throw;
  }
}

int main() {
  int sum = 0;
  for (int i = 10; i < 40; ++i) sum += dive(i);
  std::printf("%d\n", sum);
}
