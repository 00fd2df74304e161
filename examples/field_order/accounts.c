/* Accounts whose number and balance are used together and lie in two cache lines, with an owner between them that is
   unused. -DTOGETHER has them side by side. Compile it with: cc -O2 -g -o accounts examples/field_order/accounts.c */
#include <stdlib.h>

struct account {
  long number;
#ifdef TOGETHER
  long balance;
  char owner[60];
#else
  char owner[60];
  long balance;
#endif
};

__attribute__((noinline)) static long book(struct account *all, int count, long number)
{
  for (int i = 0; i < count; ++i) {
    if ((all[i].number & 3) == number) all[i].balance += number;
  }
  return all[number].balance;
}

int main(void)
{
  int count = 512;
  struct account *all = calloc((size_t)count, sizeof *all);
  for (int i = 0; i < count; ++i) all[i].number = i & 1;
  long sum = 0;
  for (int i = 0; i < 160; ++i) sum += book(all, count, i & 1);
  return sum < 0;
}
