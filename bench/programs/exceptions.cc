// Exceptions thrown through a few frames, caught, and thrown again: unwinding, type matching, allocation.
#include <cstdio>
#include <stdexcept>
#include <string>

[[gnu::noinline]] static int dive(int depth, int kind) {
  const std::string local(static_cast<std::size_t>(depth) + 20, 'x');
  if (depth == 0) {
    if (kind % 3 == 0) throw std::runtime_error(local);
    if (kind % 3 == 1) throw kind;
    return static_cast<int>(local.size());
  }
  return dive(depth - 1, kind) + 1;
}

int main() {
  long total = 0;
  for (int i = 0; i < 120000; ++i) {
    try {
      total += dive(i % 8, i);
    } catch (const std::exception& e) {
      total += e.what()[0];
    } catch (int kind) {
      total += kind % 7;
    }
  }
  std::printf("%ld\n", total);
}
