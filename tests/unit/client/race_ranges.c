/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges come and go in one place of the table while others ask. Under the thread sanitizer where
 * there is one, as race_rings. Exits with 0 if nobody saw half of one range and half of another,
 * and everybody saw the range that stayed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "maps.h"
#include "ranges.h"

enum { NB_READERS = 2, NB_ROUNDS = 200000 };

/** Two objects far from each other, in addresses and in name. */
static const struct maps_entry low = {.shared = true, .dev_minor = 1, .ino = 100};
static const struct maps_entry high = {.shared = true, .dev_minor = 2, .ino = 200};
static const struct maps_entry steady = {.shared = true, .dev_minor = 3, .ino = 300};
static _Atomic bool done;

static void
must(bool holds, const char *what)
{
	if (!holds) {
		printf("%s\n", what);
		exit(1);
	}
}

static void *
ask(void *arg)
{
	const struct maps_entry mixed = {.shared = true, .dev_minor = 1, .ino = 200};
	const struct maps_entry other = {.shared = true, .dev_minor = 2, .ino = 100};

	(void)arg;
	while (!atomic_load_explicit(&done, memory_order_relaxed)) {
		must(!ranges_touch(0x5000, 0x6000), "from the low range to the high one");
		must(!ranges_hold(&mixed) && !ranges_hold(&other), "a device and another's inode");
		must(ranges_touch(0x20000, 0x20001) && ranges_hold(&steady), "the one that stays");
		(void)(ranges_touch(0x1000, 0x2000) && ranges_hold(&high));
	}
	return NULL;
}

int
main(void)
{
	pthread_t readers[NB_READERS];

	must(ranges_add(0x20000, 0x30000, &steady), "a place");
	for (int i = 0; i < NB_READERS; i++)
		pthread_create(&readers[i], NULL, ask, NULL);
	for (int i = 0; i < NB_ROUNDS; i++) {
		struct range *range = i % 2 ? ranges_add(0x1000, 0x2000, &low)
		                            : ranges_add(0x9000, 0xa000, &high);

		must(range, "a place");
		ranges_remove(range);
	}
	atomic_store(&done, true);
	for (int i = 0; i < NB_READERS; i++)
		pthread_join(readers[i], NULL);
	return 0;
}
