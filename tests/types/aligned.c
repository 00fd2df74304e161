/* Frames that are aligned anew: variables that want more than the stack gives, beside arguments that come on it. */
#include "truth.h"

struct wide { double lanes[4]; long used; int kind; } __attribute__((aligned(32)));
struct pair { long first, second; };

static int printed;

NEVER_INLINE static double mix(struct wide *wide, int by)
{
  for (int i = 0; i < 4; ++i) wide->lanes[i] += by;
  wide->used++;
  return wide->lanes[by & 3];
}
NEVER_INLINE static double blend(struct wide *wide, int by)
{
  for (int i = 0; i < 4; ++i) wide->lanes[i] -= by;
  wide->kind++;
  return wide->lanes[by & 1];
}
NEVER_INLINE static double frame(int n, int print)
{
  struct wide local = {{1, 2, 3, 4}, 0, n};
  struct pair pair = {n, 1};
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    volatile struct pair *seen = &pair;
    seen->second += i;
    sum += mix(&local, i) + (double)seen->first;
    local.kind += (int)seen->second & 7;
  }
  if (print) {
    object("struct wide", &local, sizeof local, 1, "frame");
    object("struct wide", &local, sizeof local, 1, "mix");
    object("struct pair", &pair, sizeof pair, 1, "frame");
  }
  return sum + (double)local.kind;
}
/* Where arguments lie on the stack too, gcc keeps their place in a register of its own. */
NEVER_INLINE static double crowded(long a, long b, long c, long d, long e, long f, struct pair on_stack, int n, int print)
{
  struct wide local = {{(double)a, (double)b, (double)c, (double)d}, e, (int)f};
  double sum = 0;
  for (int i = 0; i < n; ++i) {
    volatile struct pair *seen = &on_stack;
    seen->first += i;
    sum += blend(&local, i) + (double)seen->second;
    local.used += n;
  }
  if (print) {
    object("struct wide", &local, sizeof local, 1, "crowded");
    object("struct wide", &local, sizeof local, 1, "blend");
    object("struct pair", &on_stack, sizeof on_stack, 1, "crowded");
  }
  return sum;
}
NEVER_INLINE static double all(int print)
{
  struct pair pair = {1, 2};
  return frame(60, print) + crowded(1, 2, 3, 4, 5, 6, pair, 60, print);
}

int main(void)
{
  double sum = 0;
  for (int i = 0; i < 150; ++i) sum += all(i == 149);
  FIELD(struct wide, lanes);
  FIELD(struct wide, used);
  FIELD(struct wide, kind);
  FIELD(struct pair, first);
  FIELD(struct pair, second);
  return sum < printed;
}
