/* Variables that lie on the stack, used where they are and through pointers. */
#include <string.h>
#include "truth.h"

struct window { long first, last; short sizes[20]; const char *name; };

NEVER_INLINE static long shift(struct window *w, int by)
{
  w->first += by;
  w->last -= by;
  for (int i = 0; i < 20; ++i) w->sizes[i] = (short)(w->sizes[i] + by);
  return w->first + w->last;
}

NEVER_INLINE static long histogram(const unsigned char *text, size_t length)
{
  unsigned counts[256];
  memset(counts, 0, sizeof counts);
  for (size_t i = 0; i < length; ++i) counts[text[i]]++;
  long most = 0;
  for (int i = 0; i < 256; ++i)
    if (counts[i] > (unsigned)most) most = counts[i];
  static int told;
  if (!told++) object("unsigned int", counts, sizeof counts[0], 256, "histogram");
  return most;
}

NEVER_INLINE static long local_struct(int rounds)
{
  volatile struct window here = {1, 2, {0}, "here"};
  for (int i = 0; i < rounds; ++i) {
    here.first += i;
    here.last = here.first + here.sizes[i % 20];
    here.sizes[i % 20]++;
  }
  static int told;
  if (!told++) object("struct window", &here, sizeof here, 1, "local_struct");
  return here.last;
}

int main(void)
{
  struct window windows[4] = {{0, 9, {1}, "a"}, {1, 8, {2}, "b"}, {2, 7, {3}, "c"}, {3, 6, {4}, "d"}};
  unsigned char text[600];
  for (int i = 0; i < 600; ++i) text[i] = (unsigned char)(i * 31);
  long sum = 0;
  for (int i = 0; i < 60; ++i) {
    for (int j = 0; j < 4; ++j) sum += shift(&windows[j], i);
    sum += histogram(text, sizeof text);
  }
  sum += local_struct(3000);
  FIELD(struct window, first);
  FIELD(struct window, last);
  FIELD(struct window, sizes);
  FIELD(struct window, name);
  object("struct window", windows, sizeof windows[0], 4, "*");
  object("unsigned char", text, 1, 600, "*");
  return sum == 1;
}
