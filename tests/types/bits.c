/* Bit-fields, and members over each other. */
#include "truth.h"

struct message {
  unsigned kind : 3, urgent : 1, hops : 12;
  unsigned long stamp;
  union {
    struct { int x, y; } point;
    struct { float r, phi; } polar;
    char text[16];
  } body;
  unsigned char checked;
};

NEVER_INLINE static long deliver(struct message *all, int count)
{
  long sum = 0;
  for (int i = 0; i < count; ++i) {
    struct message *one = &all[i];
    if (one->kind == 1) sum += one->body.point.x + one->body.point.y;
    if (one->kind == 2) sum += (long)one->body.polar.r;
    if (one->kind == 3) sum += one->body.text[i & 15];
    one->hops++;
    one->stamp += (unsigned long)sum;
    one->checked = 1;
  }
  return sum;
}

int main(void)
{
  int count = 300;
  struct message *all = calloc((size_t)count, sizeof *all);
  for (int i = 0; i < count; ++i) all[i].kind = (unsigned)(i % 4);
  long sum = 0;
  for (int i = 0; i < 120; ++i) sum += deliver(all, count);
  printf("field\tstruct message\t0\t2\t*\n");
  FIELD(struct message, stamp);
  FIELD(struct message, body);
  FIELD(struct message, checked);
  object("struct message", all, sizeof *all, (size_t)count, "*");
  return sum == 1;
}
