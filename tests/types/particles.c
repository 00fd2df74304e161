/* An array of structs in one block, in loops that compilers make over. */
#include "truth.h"

struct vec { double x, y, z; };
struct particle {
  struct vec at, speed;
  double mass;
  int kind;
  float charge[3];
};

NEVER_INLINE static void move(struct particle *all, size_t count, double dt)
{
  for (size_t i = 0; i < count; ++i) {
    all[i].at.x += all[i].speed.x * dt;
    all[i].at.y += all[i].speed.y * dt;
    all[i].at.z += all[i].speed.z * dt;
  }
}

NEVER_INLINE static double energy(const struct particle *from, const struct particle *to)
{
  double sum = 0;
  for (; from != to; ++from) {
    double v = from->speed.x * from->speed.x + from->speed.y * from->speed.y;
    sum += from->kind == 1 ? from->mass * v : from->charge[1];
  }
  return sum;
}

NEVER_INLINE static float charge_of(const struct particle *all, size_t count)
{
  float sum = 0;
  for (size_t i = 0; i < count; ++i)
    for (int j = 0; j < 3; ++j) sum += all[i].charge[j];
  return sum;
}

int main(void)
{
  size_t count = 500;
  struct particle *all = calloc(count, sizeof *all);
  for (size_t i = 0; i < count; ++i) {
    all[i].speed.x = all[i].mass = (double)i;
    all[i].kind = i % 3 == 0;
  }
  double sum = 0;
  for (int i = 0; i < 60; ++i) {
    move(all, count, 0.5);
    sum += energy(all, all + count) + charge_of(all, count);
  }
  FIELD(struct particle, at.x);
  FIELD(struct particle, at.y);
  FIELD(struct particle, at.z);
  FIELD(struct particle, speed.x);
  FIELD(struct particle, speed.y);
  FIELD(struct particle, speed.z);
  FIELD(struct particle, mass);
  FIELD(struct particle, kind);
  FIELD(struct particle, charge);
  object("struct particle", all, sizeof *all, count, "*");
  return sum < 0;
}
