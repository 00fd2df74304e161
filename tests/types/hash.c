/* A table of chains: pointers to pointers, and entries that end in an array of no size. */
#include <string.h>
#include "truth.h"

struct entry {
  struct entry *next;
  unsigned hash;
  unsigned short hits, length;
  char name[];
};
struct table {
  struct entry **buckets;
  size_t mask;
  long lookups;
};

NEVER_INLINE static struct entry *find(struct table *table, const char *name, unsigned hash, size_t length)
{
  table->lookups++;
  for (struct entry *at = table->buckets[hash & table->mask]; at; at = at->next) {
    if (at->hash != hash || at->length != length) continue;
    size_t i = 0;
    while (i < length && at->name[i] == name[i]) ++i;
    if (i == length) return at;
  }
  return NULL;
}

static void add(struct table *table, const char *name, unsigned hash, size_t length)
{
  struct entry *entry = malloc(sizeof *entry + length + 1);
  struct entry **place = &table->buckets[hash & table->mask];
  entry->hash = hash;
  entry->hits = 0;
  entry->length = (unsigned short)length;
  memcpy(entry->name, name, length + 1);
  entry->next = *place;
  *place = entry;
}

int main(void)
{
  struct table *table = malloc(sizeof *table);
  table->mask = 63;
  table->lookups = 0;
  table->buckets = calloc(64, sizeof *table->buckets);
  for (int i = 0; i < 4000; ++i) {
    char name[24];
    int length = snprintf(name, sizeof name, "name%d", i * 37 % 200);
    unsigned hash = 5381;
    for (const char *at = name; *at; ++at) hash = hash * 33 + (unsigned char)*at;
    struct entry *found = find(table, name, hash, (size_t)length);
    if (found) {
      found->hits++;
    } else {
      add(table, name, hash, (size_t)length);
    }
  }
  FIELD(struct entry, next);
  FIELD(struct entry, hash);
  FIELD(struct entry, hits);
  FIELD(struct entry, length);
  FIELD(struct table, buckets);
  FIELD(struct table, mask);
  FIELD(struct table, lookups);
  object("struct table", table, sizeof *table, 1, "*");
  object("struct entry*", table->buckets, sizeof(void *), 64, "*");
  for (int i = 0; i < 64; ++i) {
    for (struct entry *at = table->buckets[i]; at; at = at->next) {
      object("struct entry", at, offsetof(struct entry, name), 1, "*");
      object("char", at->name, 1, at->length, "*");
    }
  }
  return 0;
}
