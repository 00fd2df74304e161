/* A linked list in many blocks of the heap. */
#include "truth.h"

struct node {
  struct node *next;
  long key;
  int visits;
  double weight;
};

static struct node *grow(int count)
{
  struct node *head = NULL;
  for (int i = 0; i < count; ++i) {
    struct node *node = malloc(sizeof *node);
    node->next = head;
    node->key = i * 7919 % 1009;
    node->visits = 0;
    node->weight = i;
    head = node;
  }
  return head;
}

NEVER_INLINE static double walk(struct node *head, long below)
{
  double sum = 0;
  for (struct node *at = head; at; at = at->next) {
    if (at->key < below) {
      at->visits++;
      sum += at->weight;
    }
  }
  return sum;
}

int main(void)
{
  struct node *head = grow(1000);
  double sum = 0;
  for (int i = 0; i < 100; ++i) sum += walk(head, i * 10);
  FIELD(struct node, next);
  FIELD(struct node, key);
  FIELD(struct node, visits);
  FIELD(struct node, weight);
  for (struct node *at = head; at; at = at->next) object("struct node", at, sizeof *at, 1, "*");
  return sum < 0;
}
